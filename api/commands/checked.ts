import type { TSchema } from 'typebox'
import { invalid } from '../http/contract/problem.ts'
import { compileCheck } from '../http/contract/validation.ts'

/**
 * Validates a command's input by the API's schema, since customers read the result through the API.
 * @throws ApiError validation_failed
 */
export function requireValid<Body>(schema: TSchema, body: Body): Body {
  const issues = compileCheck('body', schema)(body)
  if (issues.length > 0) throw invalid(issues)
  return body
}
