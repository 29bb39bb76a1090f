import type { TSchema } from 'typebox'
import { invalid } from '../http/contract/problem.ts'
import { compileCheck } from '../http/contract/validation.ts'

/** Refuses what the API refuses, as customers read it by the API. @throws ApiError validation_failed */
export function requireValid<Body>(schema: TSchema, body: Body): Body {
  const issues = compileCheck('body', schema)(body)
  if (issues.length > 0) throw invalid(issues)
  return body
}
