import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Action, checkAction } from '../../../api/servers/states.ts'
import type { ServerStatus } from '../../../api/servers/tables.ts'
import { type Reply, type TestApp, testApp } from '../../harness/app.ts'
import { brokenAlways, brokenAtRest } from '../../process/harness/invariants.ts'
import { order } from '../harness/ordering.ts'

const ports = { first: 22000, last: 22999 }
/** Few, so that actions meet on one server. */
const SERVERS = 2

const POWER = ['start', 'stop', 'reboot', 'reset_password', 'rescue', 'unrescue'] as const
type PowerAction = (typeof POWER)[number]

type Move =
  | { kind: 'create'; startOnCreate: boolean }
  | { kind: 'power'; server: number; action: PowerAction; force: boolean }
  | { kind: 'rename'; server: number; project: boolean }
  | { kind: 'resize'; server: number; cpu: number; disk: number }
  | { kind: 'rebuild'; server: number }
  | { kind: 'delete'; server: number }
  | { kind: 'guest'; server: number; how: 'guest_shutdown' | 'crashed' | 'deaf' }
  | {
      kind: 'breakage'
      method: 'define' | 'start' | 'shutdown' | 'powerOff' | 'destroy' | 'ready' | 'inspect'
    }
  | { kind: 'look' }
  | { kind: 'work' }
  | { kind: 'time'; ms: number }

const server = fc.nat({ max: SERVERS - 1 })
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('create'), startOnCreate: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('power'),
      server,
      action: fc.constantFrom(...POWER),
      force: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rename'), server, project: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('resize'),
      server,
      cpu: fc.integer({ min: 1, max: 8 }),
      disk: fc.constantFrom(10, 20, 40),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('rebuild'), server }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete'), server }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('guest'),
      server,
      how: fc.constantFrom('guest_shutdown', 'crashed', 'deaf'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('breakage'),
      method: fc.constantFrom('define', 'start', 'shutdown', 'powerOff', 'destroy', 'ready', 'inspect'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('look') }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('work') }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('time'), ms: fc.constantFrom(100, 1_000, 20_000, 3_600_000) }),
  },
)

/** Sends a request about a server and compares the answer with what the state table says of the status it was in. */
async function ask(
  t: TestApp,
  id: string,
  action: Action,
  force: boolean,
  send: (path: string) => Promise<Reply>,
): Promise<Reply> {
  const before = (await t.call('GET', `/servers/${id}`)).body
  const reply = await send(`/servers/${id}`)
  if (reply.status === 403 || reply.status === 422 || reply.body.code === 'capacity_unavailable') return reply
  const copying = before.current_operation?.type === 'snapshot' ? 'one' : null
  const status = before.status as ServerStatus // what the API says is a status
  const row = { status, copying, rescue_id: before.rescue ? '' : null, suspension_reason: null }
  const verdict = before.code ?? checkAction(action, row, { force })
  expect([action, before.status, reply.body.code ?? 'allowed']).toEqual([action, before.status, verdict])
  return reply
}

async function play(t: TestApp, ids: string[], one: Move): Promise<void> {
  const id = 'server' in one ? ids[one.server] : undefined
  const isThere =
    id !== undefined && (await t.driver.inspect(id).catch(() => ({ power: 'absent' }))).power === 'running'
  switch (one.kind) {
    case 'create': {
      if (ids.length >= SERVERS) return
      const reply = await t.call(
        'POST',
        '/servers',
        await order(t.call, { start_on_create: one.startOnCreate }),
      )
      expect([202, 403]).toContain(reply.status)
      if (reply.status === 202) ids.push(reply.body.server_id)
      return
    }
    case 'power': {
      if (!id) return
      const takesForce = one.action === 'stop' || one.action === 'reboot'
      const body = takesForce ? { force: one.force, timeout_seconds: 30 } : {}
      const force = one.force && one.action === 'stop'
      await ask(t, id, one.action, force, (path) => t.call('POST', `${path}/${one.action}`, body))
      return
    }
    case 'rename':
      if (id)
        await ask(t, id, 'update', false, (path) =>
          t.call('PATCH', path, { description: one.project ? 'x' : null }),
        )
      return
    case 'resize':
      if (id)
        await ask(t, id, 'resize', false, (path) =>
          t.call('PATCH', path, { cpu: one.cpu, disk_gb: one.disk }),
        )
      return
    case 'rebuild': {
      const { template_id } = await order(t.call)
      if (id) await ask(t, id, 'rebuild', false, (path) => t.call('POST', `${path}/rebuild`, { template_id }))
      return
    }
    case 'delete':
      if (id) await ask(t, id, 'delete', false, (path) => t.call('DELETE', path))
      return
    case 'guest':
      if (id && one.how === 'deaf') t.driver.ignoresPowerButton(id)
      else if (id && isThere)
        t.driver.turnsOffByItself(id, one.how === 'crashed' ? 'crashed' : 'guest_shutdown')
      return
    case 'breakage':
      t.driver.failNext(one.method, new Error('the host hiccups'))
      return
    case 'look':
      return t.app.reconciler.look()
    case 'work':
      return t.work()
    case 'time':
      t.clock.advance(one.ms)
  }
}

test('whatever customers, guests and hosts do: no 5xx, the state table holds, sums are right, and all settles', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 10, maxLength: 60 }), async (moves) => {
      const t = await testApp({ simulator: { bootMs: 2_000, shutdownMs: 1_000, bootSlots: 2 } })
      await t.db.updateTable('accounts').set({ quotas: '{"cpu":12}' }).execute()
      const ids: string[] = []
      const world = async () => ({ db: t.db, machines: await t.driver.list(), ports })
      for (const one of moves) {
        await play(t, ids, one)
        expect(await brokenAlways(await world())).toEqual([])
      }
      await t.finish()
      await t.app.reconciler.look()
      await t.finish()
      expect(await brokenAtRest(await world())).toEqual([])
      // From wherever it is now, every server can be deleted, and nothing is left.
      while ((await t.call('GET', '/servers')).body.total > 0) {
        for (const id of ids) expect([202, 404]).toContain((await t.call('DELETE', `/servers/${id}`)).status)
        await t.finish()
      }
      expect((await t.driver.list()).size).toBe(0)
      expect(
        await t.db.selectFrom('pool_usage').select(['cpu', 'ram_mb', 'disk_gb']).executeTakeFirst(),
      ).toEqual({ cpu: 0, ram_mb: 0, disk_gb: 0 })
      expect(await brokenAtRest(await world())).toEqual([])
    }),
    { numRuns: process.env.BERTH_TEST_DATABASE === 'postgres' ? 8 : 60, interruptAfterTimeLimit: 250_000 },
  )
})
