// A server that an operator moves to another account: what goes with it, who pays, and who sees what.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseMoney } from '../../../api/money.ts'
import { addTraffic } from '../../../api/monitoring/traffic.ts'
import { portsAt } from '../../../api/ports/ended.ts'
import type { Call, TestApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'
import { furnished, get } from './harness/moving.ts'

const HOUR_MS = 3600_000

/** The seconds and the amount (1/10000 ruble) that an account was charged for an item. */
async function chargedFor(call: Call, itemId: string) {
  const { items } = await get(call, '/account/transactions?limit=200')
  const own = items.filter(({ item_id }: { item_id: string }) => item_id === itemId)
  return {
    seconds: own.reduce((sum: number, { seconds }: { seconds: number }) => sum + seconds, 0),
    amount: own.reduce((sum: number, { amount }: { amount: string }) => sum + parseMoney(amount), 0),
  }
}

async function pass(t: TestApp, ms: number): Promise<void> {
  t.clock.advance(ms)
  await t.app.billing.look()
}

test('a moved server has its address, snapshots and backups in the new account, and none in the previous one', async () => {
  const { t, id, to, buyer, move, snapshot } = await furnished()
  const before = await get(t.call, `/servers/${id}`)
  const moved = await move({}, { 'idempotency-key': 'sale-1' })
  expect(moved).toMatchObject({ status: 200, body: { account_id: to, server_id: id, status: 'stopped' } })
  expect(await move({}, { 'idempotency-key': 'sale-1' })).toMatchObject({ status: 200, body: moved.body })
  expect((await move()).status).toBe(200)
  const after = await get(buyer, `/servers/${id}`)
  expect(after).toMatchObject({ name: 'web-1', ipv4: before.ipv4, ssh: before.ssh })
  expect(after).toMatchObject({
    description: null,
    labels: {},
    source_id: null,
    backup_window: before.backup_window,
  })
  expect((await get(buyer, '/addresses')).items).toMatchObject([{ address: before.ipv4, server_id: id }])
  expect((await get(buyer, '/snapshots')).items).toMatchObject([{ snapshot_id: snapshot }])
  expect((await get(buyer, '/account/projects')).items[0].server_count).toBe(1)
  for (const path of ['/servers', '/addresses', '/snapshots', '/backups'])
    expect([path, (await get(t.call, path)).total]).toEqual([path, 0])
  expect((await get(t.call, '/account/projects')).items[0].server_count).toBe(0)
  const quotas = async (call: Call) => (await get(call, '/account/me')).quotas
  expect([await quotas(t.call), await quotas(buyer)]).toMatchObject([
    { servers: { used: 0 }, snapshots: { used: 0 } },
    { servers: { used: 1 }, snapshots: { used: 1 } },
  ])
  expect((await buyer('POST', `/servers/${id}/start`)).status).toBe(202)
  await t.finish()
  expect((await get(buyer, `/servers/${id}`)).status).toBe('running')
})

test('a moved server keeps the numbers of its ports, and a trace knows which account had them when', async () => {
  const { t, id, to, buyer, move } = await furnished({ hasAddresses: false })
  const numbers = async (call: Call) =>
    (await get(call, `/servers/${id}/ports`)).items.map(({ host_port }: { host_port: number }) => host_port)
  const before = await numbers(t.call)
  const sold = t.clock.now() + 60_000
  t.clock.advance(60_000)
  expect((await move()).status).toBe(200)
  expect([await numbers(buyer), before.length]).toEqual([before, 2])
  expect((await get(buyer, '/account/me')).quotas.ports.used).toBe(1)
  for (const port of before) {
    const had = (at: number) => portsAt(t.db, port, at)
    expect((await had(sold - 1)).map(({ account_id }) => account_id)).toEqual([t.accountId])
    expect((await had(sold)).map(({ account_id }) => account_id)).toEqual([to])
  }
})

test('each second of a moved server is paid once, by the account that had it then', async () => {
  const { t, id, buyer, move, snapshot } = await furnished()
  const whole = await make(t, { name: 'stays' })
  await t.call('POST', `/servers/${whole}/stop`)
  await t.finish()
  const start = t.clock.now()
  await pass(t, HOUR_MS)
  const [old, still] = [await chargedFor(t.call, id), await chargedFor(t.call, whole)]
  await pass(t, HOUR_MS + 754_000)
  expect((await move()).status).toBe(200)
  const handedOver = await chargedFor(t.call, id)
  await pass(t, 5 * HOUR_MS)
  const seconds = Math.floor(t.clock.now() / HOUR_MS) * 3600 - Math.floor(start / HOUR_MS) * 3600
  expect(seconds).toBeGreaterThan(0)
  const [seller, taker, other] = [
    await chargedFor(t.call, id),
    await chargedFor(buyer, id),
    await chargedFor(t.call, whole),
  ]
  // Nothing more is charged to the account before, and no hour is lost: a server beside it of the same price has as many.
  expect(seller).toEqual(handedOver)
  expect(seller.seconds - old.seconds + taker.seconds).toBe(other.seconds - still.seconds)
  expect(taker.seconds).toBeGreaterThan(4 * 3600)
  const price = (await get(buyer, `/servers/${id}`)).price_month_rub
  expect(price).toBe((await get(t.call, `/servers/${whole}`)).price_month_rub)
  expect(
    Math.abs(seller.amount - old.amount + taker.amount - (other.amount - still.amount)),
  ).toBeLessThanOrEqual(200)
  const rates = await t.db
    .selectFrom('rates')
    .selectAll()
    .where('item_id', '=', id)
    .orderBy('starts_at')
    .execute()
  for (const [at, rate] of rates.entries()) expect(rate.ends_at).toBe(rates[at + 1]?.starts_at ?? null)
  expect((await chargedFor(buyer, snapshot)).seconds).toBe(
    (await chargedFor(buyer, snapshot)).amount === 0 ? 0 : taker.seconds,
  )
})

test('the key of a move works whichever account has the server, so a repeat moves nothing', async () => {
  const { t, id, to, move } = await furnished()
  const key = { 'idempotency-key': 'sale-1' }
  const moved = await move({}, key)
  const replayed = { status: 200, headers: { 'idempotency-replayed': 'true' }, body: moved.body }
  expect(await move({}, key)).toMatchObject(replayed)
  expect((await move({ account_id: t.accountId })).status).toBe(200)
  expect(await move({}, key)).toMatchObject(replayed)
  expect(moved.body.account_id).toBe(to)
  expect((await t.call('GET', `/servers/${id}`)).status).toBe(200)
  const none = { account_id: randomUUID() }
  expect((await move(none, key)).body.code).toBe((await move(none)).body.code)
})

test('a server moves there and back within an hour, and no charge of it fails', async () => {
  const { t, id, buyer, move } = await furnished()
  const back = { account_id: t.accountId }
  for (const more of [{}, back, {}, back, {}]) {
    expect((await move(more)).status).toBe(200)
    t.clock.advance(60_000)
  }
  await pass(t, 3 * HOUR_MS)
  const meters = await t.db.selectFrom('billing_meters').selectAll().where('item_id', '=', id).execute()
  expect(meters.map(({ due_at }) => (due_at ?? 0) > t.clock.now())).toEqual([true])
  const [seller, taker] = [await chargedFor(t.call, id), await chargedFor(buyer, id)]
  const [first] = await t.db
    .selectFrom('rates')
    .select('starts_at')
    .where('item_id', '=', id)
    .orderBy('starts_at')
    .execute()
  const until = Math.floor(t.clock.now() / HOUR_MS) * 3600
  expect(seller.seconds + taker.seconds).toBe(until - (first?.starts_at ?? 0) / 1000)
})

test('the other account pays by its own prices, and traffic beyond what a month includes once', async () => {
  const { t, shop, id, to, buyer, move } = await furnished()
  const month = Date.UTC(new Date(t.clock.now()).getUTCFullYear(), new Date(t.clock.now()).getUTCMonth())
  await addTraffic(t.db, [{ server_id: id, account_id: t.accountId, month, in_bytes: 0, out_bytes: 5_000 }])
  await shop('POST', `/operator/accounts/${to}/prices`, {
    ...{ price_percent: 100, preset_prices_rub: {}, reason: 'a contract' },
  })
  const before = parseMoney((await get(t.call, `/servers/${id}`)).price_month_rub)
  expect((await move()).status).toBe(200)
  expect(parseMoney((await get(buyer, `/servers/${id}`)).price_month_rub)).toBe(2 * before)
  const usage = async (call: Call) => (await get(call, '/account/usage')).traffic
  expect([(await usage(t.call)).length, (await usage(buyer)).length]).toEqual([0, 1])
})
