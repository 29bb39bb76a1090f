import type { FastifyInstance } from 'fastify'
import type { FullDisk } from '../../database/full-disk.ts'

/** Alternatives by name: the service works if one of them does. A check rejects if its part does not work. */
export type Checks = Readonly<Record<string, () => Promise<unknown>>>

const PATIENCE_MS = 2_000

/**
 * Mounts the health checks for load balancers and supervisors, without tokens and rate limits. /healthz shows that the
 * process answers; /readyz shows whether it can work, and which parts can't. A full disk leaves it ready: reads
 * work, and no other process could do more.
 */
export function mountHealth(http: FastifyInstance, needs: readonly Checks[], disk: FullDisk): void {
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
        status: isReady ? (disk.isFull ? 'degraded' : 'ok') : 'unavailable',
        checks: {
          ...Object.fromEntries(parts.map(({ name, state }) => [name, state])),
          ...(disk.isFull ? { disk: 'full' } : {}),
        },
      })
  })
}

/** Simultaneous requests share one check, since anybody may send any number of them. */
function shared<Result>(look: () => Promise<Result>): () => Promise<Result> {
  let present: Promise<Result> | null = null
  return () => {
    present ??= look().finally(() => (present = null))
    return present
  }
}

/** The reply only has the state: strangers must not see paths and addresses. */
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
