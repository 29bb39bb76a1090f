import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type TestApp, testApp } from '../../harness/app.ts'
import { brokenAlways, brokenAtRest } from '../../process/harness/invariants.ts'
import { make, order } from '../harness/ordering.ts'

const ports = { first: 22000, last: 22999 }
/** Few, so that actions meet. */
const FEW = 2

const some = fc.nat({ max: FEW - 1 })
const move = fc.record({
  kind: fc.constantFrom(
    ...(['create', 'attach', 'attach', 'detach', 'grow', 'remove', 'server', 'delete', 'power'] as const),
    ...(['breakage', 'work', 'work', 'time'] as const),
  ),
  volume: some,
  server: some,
  size: fc.integer({ min: 1, max: 30 }),
  method: fc.constantFrom('volume', 'attachVolume', 'detachVolume', 'removeVolume', 'destroy', 'start'),
})
type Move = typeof move extends fc.Arbitrary<infer Value> ? Value : never

interface World {
  t: TestApp
  volumes: string[]
  servers: string[]
}

async function play({ t, volumes, servers }: World, one: Move): Promise<void> {
  const path = `/volumes/${volumes[one.volume % volumes.length]}`
  const server_id = servers[one.server % servers.length]
  const asks: Partial<Record<Move['kind'], () => ReturnType<TestApp['call']>>> = {
    attach: () => t.call('POST', `${path}/attach`, { server_id }),
    detach: () => t.call('POST', `${path}/detach`),
    grow: () => t.call('PATCH', path, { size_gb: one.size }),
    remove: () => t.call('DELETE', path),
    delete: () => t.call('DELETE', `/servers/${server_id}`),
    power: () => t.call('POST', `/servers/${server_id}/${one.size % 2 ? 'start' : 'stop'}`),
  }
  const reply = await asks[one.kind]?.()
  if (reply) expect([one.kind, reply.status]).toEqual([one.kind, expect.toSatisfy((code) => code < 500)])
  if (one.kind === 'create') {
    const made = await t.call('POST', '/volumes', { name: 'a', zone_slug: 'local-1', size_gb: one.size })
    if (made.status === 201) volumes.push(made.body.volume_id)
  }
  if (one.kind === 'server')
    servers.push((await t.call('POST', '/servers', await order(t.call))).body.server_id)
  if (one.kind === 'breakage') t.driver.failNext(one.method, new Error('the host hiccups'))
  if (one.kind === 'work') await t.work()
  if (one.kind === 'time') t.clock.advance(one.size * 1_000)
}

test('whatever people do with volumes, disk space adds up, and each server ends with the volumes that the API shows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 10, maxLength: 50 }), async (moves) => {
      const t = await testApp({ simulator: { bootMs: 2_000, shutdownMs: 1_000 } })
      const world: World = { t, volumes: [], servers: [await make(t)] }
      const seen = async () => ({
        ...{ db: t.db, machines: await t.driver.list(), volumes: await t.driver.listVolumes(), ports },
      })
      await play(world, { kind: 'create', volume: 0, server: 0, size: 1, method: 'volume' })
      for (const one of moves) {
        await play(world, one)
        expect(await brokenAlways(await seen())).toEqual([])
      }
      await t.finish()
      expect(await brokenAtRest(await seen())).toEqual([])
    }),
    { numRuns: process.env.BERTH_TEST_DATABASE === 'postgres' ? 5 : 40, interruptAfterTimeLimit: 250_000 },
  )
})
