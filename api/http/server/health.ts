import type { FastifyInstance } from 'fastify'

/** Alternatives by name: the service works if one of them does. A check rejects if its part does not work. */
export type Checks = Readonly<Record<string, () => Promise<unknown>>>

const PATIENCE_MS = 2_000

/**
 * Mounts what load balancers and supervisors ask, without a token and outside of rate limits: /healthz, whether the
 * process answers, and /readyz, whether it can do its work, with the parts that can't.
 */
export function mountHealth(http: FastifyInstance, needs: readonly Checks[]): void {
  const looks = needs.flatMap((checks, need) =>
    Object.entries(checks).map(([name, check]) => ({ need, name, look: shared(() => stateOf(check)) })),
  )
  http.get('/healthz', { config: { isFree: true } }, async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  )
  http.get('/readyz', { config: { isFree: true } }, async (_request, reply) => {
    const parts = await Promise.all(
      looks.map(async ({ look, ...part }) => ({ ...part, state: await look() })),
    )
    const isReady = needs.every((_, at) => parts.some(({ need, state }) => need === at && state === 'ok'))
    return reply
      .code(isReady ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({
        status: isReady ? 'ok' : 'unavailable',
        checks: Object.fromEntries(parts.map(({ name, state }) => [name, state])),
      })
  })
}

/** One look at a time, for all who ask meanwhile: strangers ask as often as they like, and looking takes work. */
function shared<Result>(look: () => Promise<Result>): () => Promise<Result> {
  let present: Promise<Result> | null = null
  return () => {
    present ??= look().finally(() => (present = null))
    return present
  }
}

/** Names no more than the state: a stranger need not read paths and addresses. */
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
