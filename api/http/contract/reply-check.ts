import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from './problem.ts'
import type { Route } from './route.ts'
import { compileCheck } from './validation.ts'

const checkProblem = compileCheck('body', Problem)

/** Compares each reply with its schema: an undocumented reply fails the test that received it. */
export function replyChecker(route: Route) {
  const checks = new Map(
    Object.entries(route.reply).map(([status, schema]) => [
      Number(status),
      schema && compileCheck('body', schema),
    ]),
  )
  return async (_request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const check = reply.statusCode >= 400 ? checkProblem : checks.get(reply.statusCode)
    if (!check) throw new Error(`${route.id} replied ${reply.statusCode}, which it does not document`)
    const sent: unknown = JSON.parse(JSON.stringify(payload))
    const issues = check(sent)
    if (issues.length > 0)
      throw new Error(`${route.id} sent a reply that does not match its schema: ${JSON.stringify(issues)}`)
    return payload
  }
}
