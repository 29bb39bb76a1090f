// Signs of abuse: what the service measures anyway is compared every ten minutes, and listed for operators.
import { expect, test } from 'vitest'
import { createAccount } from '../../../api/accounts/accounts.ts'
import type { NetworkCounts } from '../../../api/drivers/measurement.ts'
import { onBehalfOf } from '../../../api/http/limits/origin.ts'
import type { TestApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'
import { withPayments } from '../payments/harness/payments.ts'
import { makeOperatorToken, withShop } from './harness/shop.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 3600_000
const NONE: NetworkCounts = { rxPackets: 0, txPackets: 0, opened: 0, mailsRefused: 0 }

/** A server whose meter the test reads, in place of the sampler. */
async function meterOf(t: TestApp, name: string) {
  const server_id = await make(t, { name })
  await t.app.sampler.round()
  const startedAt = t.clock.now()
  let counts = NONE
  let cpuMs = 0
  const read = async () => {
    const totals = { cpuMs, diskReadBytes: 0, diskWriteBytes: 0, networkRxBytes: 0, networkTxBytes: 0 }
    const reading = { at: t.clock.now(), startedAt, counters: totals, before: totals, totals, counts }
    await t.db
      .updateTable('meters')
      .set({ reading: JSON.stringify(reading) })
      .where('server_id', '=', server_id)
      .execute()
    await t.app.abuse.look()
  }
  await read()
  /** Turns the clock while the server does this much more, and looks. */
  const pass = async (ms: number, { cpu = 0, ...more }: Partial<NetworkCounts> & { cpu?: number }) => {
    t.clock.advance(ms)
    cpuMs += cpu
    const names = ['rxPackets', 'txPackets', 'opened', 'mailsRefused'] as const
    counts = {
      ...NONE,
      ...Object.fromEntries(names.map((one) => [one, (counts[one] ?? 0) + (more[one] ?? 0)])),
    }
    await read()
  }
  return { server_id, pass }
}

test('a flood, a scan and tries to send mail are listed with figures and what to do, and less than that is not', async () => {
  const { t, shop } = await withShop()
  const signs = async () => (await shop('GET', '/operator/abuse')).body
  const { server_id, pass } = await meterOf(t, 'web-1')
  // Somebody downloads much, visits many pages, and has one program that mails.
  await pass(10 * MINUTE_MS, { rxPackets: 9e6, txPackets: 8e6, opened: 60_000, mailsRefused: 40 })
  expect(await signs()).toMatchObject({ total: 0 })
  const since = new Date(t.clock.now()).toISOString()
  await pass(10 * MINUTE_MS, { rxPackets: 1e6, txPackets: 12e6, opened: 240_000, mailsRefused: 100 })
  await pass(10 * MINUTE_MS, { rxPackets: 1e6, txPackets: 9e6, opened: 180_000, mailsRefused: 60 })
  const last_seen_at = new Date(t.clock.now()).toISOString()
  const { total, items } = await signs()
  expect(total).toBe(3)
  const of = (kind: string) => items.find((sign: { kind: string }) => sign.kind === kind)
  const email = 'customer1@example.com'
  const shared = { server_id, server_name: 'web-1', network: null, since, last_seen_at }
  const accounts = [{ account_id: t.accountId, email, status: 'active', is_frozen: false }]
  expect(of('outgoing_flood')).toMatchObject({ ...shared, accounts, figure: 15_000, peak: 20_000 })
  expect(of('many_connections')).toMatchObject({ unit: 'connections_per_second', figure: 300, peak: 400 })
  expect(of('mail_tries')).toMatchObject({ unit: 'tries_per_hour', figure: 360, peak: 600 })
  expect(of('outgoing_flood').remedy).toContain(
    `berthd account freeze ${t.accountId} --reason "outgoing flood"`,
  )
  expect(of('mail_tries').remedy).toContain(`berthd server suspend ${server_id} --reason`)
  await shop('POST', `/operator/accounts/${t.accountId}/freeze`, { reason: 'Flood' })
  expect((await signs()).items[0].accounts[0]).toMatchObject({ status: 'suspended', is_frozen: true })
})

test('a sign that was not seen for an hour begins anew, and is deleted a month after it was last seen', async () => {
  const { t, shop } = await withShop()
  const { pass } = await meterOf(t, 'web-1')
  const tries = async () => (await shop('GET', '/operator/abuse?kind=mail_tries')).body.items
  await pass(10 * MINUTE_MS, { mailsRefused: 5_000 })
  await pass(10 * MINUTE_MS, {})
  await pass(10 * MINUTE_MS, { mailsRefused: 100 })
  const [first] = await tries()
  expect(first).toMatchObject({ figure: 600, peak: 30_000 })
  for (let times = 0; times < 8; times += 1) await pass(10 * MINUTE_MS, {})
  await pass(10 * MINUTE_MS, { mailsRefused: 200 })
  const again = await tries()
  expect(again).toMatchObject([{ sign_id: first.sign_id, figure: 1_200, peak: 1_200 }])
  expect(Date.parse(again[0].since)).toBe(t.clock.now() - 10 * MINUTE_MS)
  t.clock.advance(29 * DAY_MS)
  await t.app.retention.look()
  const kept = await t.db.selectFrom('signs').select('kind').execute()
  t.clock.advance(2 * DAY_MS)
  await t.app.retention.look()
  expect([kept.length, await t.db.selectFrom('signs').select('kind').execute()]).toEqual([1, []])
})

test('a CPU at its limit is listed after three days of it, and a rest begins them anew', async () => {
  const { t } = await withShop()
  const { pass } = await meterOf(t, 'web-1')
  const half = 30 * MINUTE_MS
  const run = async (days: number) => {
    for (let ms = 0; ms < days * DAY_MS; ms += half) await pass(half, { cpu: half * 0.97 })
  }
  const signs = async () => {
    const { value } = await makeOperatorToken(t, ['operator:read'])
    return (await t.callAs(value)('GET', '/operator/abuse')).body
  }
  await run(2)
  for (let times = 0; times < 4; times += 1) await pass(half, { cpu: half * 0.2 })
  await run(2)
  expect(await signs()).toMatchObject({ total: 0, items: [] })
  await run(1.1)
  expect(await signs()).toMatchObject({ items: [{ kind: 'cpu_at_limit', unit: 'percent', figure: 97 }] })
})

test('many accounts created from one network are one sign, and the few of an office are none', async () => {
  const { t, shop } = await withShop()
  const create = (name: string, address: string) => {
    const origin = { action: 'completeSignUp', tokenId: null, person: null, requestId: name, address }
    return onBehalfOf(origin, () => createAccount(t.db, t.clock, { email: `${name}@example.com`, name }))
  }
  const ids: (string | null)[] = []
  for (let at = 0; at < 6; at += 1) {
    ids.push(await create(`a${at}`, `2001:db8:1:2::${at}`))
    if (at < 4) await create(`b${at}`, '203.0.113.7')
    t.clock.advance(3600_000)
  }
  await t.app.abuse.look()
  const { items, total } = (await shop('GET', '/operator/abuse')).body
  expect([total, items[0]]).toMatchObject([
    1,
    { kind: 'accounts_of_network', network: '2001:db8:1:2', server_id: null, figure: 6, unit: 'accounts' },
  ])
  expect(items[0].accounts.map(({ account_id }: { account_id: string }) => account_id)).toEqual(
    ids.toReversed(),
  )
  expect((await shop('GET', `/operator/abuse?account_id=${ids[2]}`)).body.total).toBe(1)
  expect((await shop('GET', `/operator/abuse?account_id=${t.accountId}`)).body.total).toBe(0)
  expect((await shop('GET', '/operator/abuse?kind=mail_tries')).body.total).toBe(0)
  expect((await shop('GET', '/operator/abuse?kind=whim')).status).toBe(422)
})

test.each(['stripe', 'yookassa'] as const)(
  'accounts that one card of %s pays for are one sign',
  async (provider) => {
    const { t, played, shop, look } = await withPayments()
    const payers: string[] = []
    const pay = async (card: string) => {
      const accountId = await t.makeAccount('0')
      const token = await t.makeToken(['account:read', 'account:write'], { accountId })
      await t.callAs(token)('POST', '/account/payments', { amount_rub: '500', provider })
      Object.assign(played.last, { status: 'succeeded', card })
      await look()
      payers.push(accountId)
    }
    for (const card of ['411111', '411111', '522222', '411111']) await pay(card)
    await t.app.abuse.look()
    const { items, total } = (await shop('GET', '/operator/abuse')).body
    expect([total, items[0]]).toMatchObject([1, { kind: 'accounts_of_card', figure: 3, network: null }])
    const found = items[0].accounts.map(({ account_id }: { account_id: string }) => account_id)
    expect(found).toEqual([payers[3], payers[1], payers[0]])
    const kept = await t.db.selectFrom('payments').select('card').execute()
    expect(kept.map(({ card }) => card)).toEqual(Array(4).fill(expect.stringMatching(/^[0-9a-f]{64}$/)))
  },
)

test('an account’s servers have at most two hundred signs, the newest', async () => {
  const { t } = await withShop()
  const about = {
    kind: 'mail_tries',
    account_id: t.accountId,
    accounts: '[]',
    figure: 1,
    peak: 1,
    since: 0,
  } as const
  const now = t.clock.now()
  const rows = Array.from({ length: 250 }, (_, at) => ({
    ...{ ...about, sign_id: `sign-${at}`, subject: `server-${at}`, seen_at: now - at },
  }))
  await t.db.insertInto('signs').values(rows).execute()
  await t.app.retention.look()
  const left = await t.db.selectFrom('signs').select('seen_at').orderBy('seen_at').execute()
  expect([left.length, left[0]]).toEqual([200, { seen_at: now - 199 }])
})
