import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { Engine } from '../../../api/operations/engine.ts'
import { insertOperation } from '../../../api/operations/operations.ts'
import { done, runner } from '../../../api/operations/procedure.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { type TestApp, testApp } from '../../harness/app.ts'

/** An engine whose steps last until they are let go, and the accounts of those that have begun, in this order. */
function heldEngine(t: TestApp) {
  const begun: string[] = []
  const gate = Promise.withResolvers<void>()
  const step = async ({ account_id }: { account_id: string }) => {
    begun.push(account_id)
    await gate.promise
    return done()
  }
  const work = runner({ steps: { first: step }, conclude: async () => async () => {} })
  const engine = new Engine({
    db: t.db,
    clock: t.clock,
    log: pino({ level: 'silent' }),
    procedures: { volume: { work } },
    peers: noPeers(),
    ended: async () => {},
  })
  onTestFinished(async () => {
    gate.resolve()
    await engine.settled()
  })
  return { engine, begun, letGo: gate.resolve }
}

async function order(t: TestApp, accountId: string, count: number): Promise<void> {
  const now = t.clock.now()
  await t.db.transaction().execute(async (tx) => {
    for (let at = 0; at < count; at++) {
      const subject = { subject_type: 'volume', subject_id: randomUUID() }
      const what = { accountId, subject, serverId: null, type: 'work', step: 'first', data: {} }
      await insertOperation(tx, { ...what, now, deadlineAt: now + 1e9 })
    }
  })
}

test('one operation of an account does not wait for the thousand that another one ordered before', async () => {
  const t = await testApp()
  const { engine, begun } = heldEngine(t)
  await order(t, t.accountId, 1_000)
  t.clock.advance(1_000)
  const neighbour = await t.makeAccount()
  await order(t, neighbour, 1)
  await engine.tick()
  await expect.poll(() => begun.includes(neighbour)).toBe(true)
})

test('whatever accounts have ordered, the next look begins the oldest few of each, and no more than half of it for one', async () => {
  const backlogs = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 2, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(backlogs, async (counts) => {
      const t = await testApp()
      const { engine, begun } = heldEngine(t)
      const accounts = [t.accountId]
      while (accounts.length < counts.length) accounts.push(await t.makeAccount())
      for (const [at, count] of counts.entries()) {
        t.clock.advance(1_000)
        await order(t, accounts[at] ?? '', count)
      }
      const taken = await engine.tick()
      await expect.poll(() => begun.length).toBe(taken)
      for (const [at, count] of counts.entries()) {
        const got = begun.filter((account) => account === accounts[at]).length
        expect(got).toBeGreaterThanOrEqual(Math.min(count, 8))
        expect(got).toBeLessThanOrEqual(Math.min(count, 32))
      }
    }),
    { numRuns: 6, examples: [[[400, 1, 400, 9]]] },
  )
})

test('an account whose steps take long leaves half of the engine to the others', async () => {
  const t = await testApp()
  const { engine, begun, letGo } = heldEngine(t)
  await order(t, t.accountId, 1_000)
  expect([await engine.tick(), await engine.tick()]).toEqual([32, 0])
  const neighbour = await t.makeAccount()
  await order(t, neighbour, 3)
  expect(await engine.tick()).toBe(3)
  await expect.poll(() => begun.filter((account) => account === neighbour).length).toBe(3)
  letGo()
  await engine.settled()
  expect(await engine.tick()).toBe(32)
})

test('one look at a backlog fills the slots that become free close together', async () => {
  const t = await testApp()
  const { engine, begun, letGo } = heldEngine(t)
  await order(t, t.accountId, 100)
  await engine.start({ isAlone: true })
  await expect.poll(() => begun.length).toBe(32)
  letGo()
  await engine.settled()
  await engine.nextDueAt() // a statement takes longer than a look would take to begin
  expect(begun.length).toBe(32)
  t.clock.advance(50)
  await expect.poll(() => begun.length).toBe(64)
  await engine.stop()
})
