import type { FastifyInstance } from 'fastify'

/** Rejects with the reason where a part of the service does not work. */
export type Checks = Readonly<Record<string, () => Promise<unknown>>>

const PATIENCE_MS = 2_000

/**
 * Mounts what load balancers and supervisors ask, without a token and outside of rate limits: /healthz, whether the
 * process answers, and /readyz, whether it can do its work, with the part that can't.
 */
export function mountHealth(http: FastifyInstance, checks: Checks): void {
  http.get('/healthz', { config: { isFree: true } }, async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  )
  http.get('/readyz', { config: { isFree: true } }, async (_request, reply) => {
    const parts = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await stateOf(check)] as const),
    )
    const isReady = parts.every(([, state]) => state === 'ok')
    return reply
      .code(isReady ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: isReady ? 'ok' : 'unavailable', checks: Object.fromEntries(parts) })
  })
}

/** Which part, and no more: a stranger need not read paths and addresses. */
async function stateOf(check: () => Promise<unknown>): Promise<'ok' | 'failed' | 'no answer'> {
  const late = Promise.withResolvers<'no answer'>()
  const timer = setTimeout(() => late.resolve('no answer'), PATIENCE_MS)
  const answer = check().then(
    () => 'ok' as const,
    () => 'failed' as const,
  )
  const state = await Promise.race([answer, late.promise])
  clearTimeout(timer)
  return state
}
