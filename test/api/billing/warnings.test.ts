// The mails to the people of an account before and when its servers are suspended or deleted.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { changeStatus, createAccount } from '../../../api/accounts/accounts.ts'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { quotas } from '../../../api/features.ts'
import { parseMoney } from '../../../api/money.ts'
import { book } from '../../../api/operator/accounts.ts'
import { addMember } from '../../../api/people/membership/members.ts'
import { createPerson } from '../../../api/people/person/people.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR
const SMALL = { plan_type: 'custom', preset_id: undefined, cpu: 1, ram_mb: 512, disk_gb: 10 }
const operator = `
operator:
  name: Example Cloud
  contact: help@example.com
  payment_url: https://pay.example.com/?account={account_id}
`

async function person(
  t: TestApp,
  email: string,
  role: 'owner' | 'admin' | 'billing' | 'member' | 'viewer',
  language: 'en' | 'ru' = 'en',
) {
  const created = await createPerson(t.db, t.clock, { email, name: 'X', language, password: null })
  if (!created) throw new Error('the address is taken')
  await addMember(t.db, t.clock, { accountId: t.accountId, personId: created.person_id, role })
}

/** Turns the clock hour by hour as the service would see it. @returns recipients and subjects of the mails sent */
async function hours(t: TestApp, count: number): Promise<string[]> {
  const before = t.mails.length
  for (let hour = 0; hour < count; hour++) {
    t.clock.advance(HOUR)
    await t.app.billing.look()
    await t.finish()
  }
  await t.app.billing.look()
  for (let look = 0; look < 5; look++) await t.app.mails.look()
  return t.mails.slice(before).map(({ to, subject }) => `${to}: ${subject}`)
}

test('before servers are suspended and deleted, the people who can prevent it are told once each time', async () => {
  const t = await testApp({ balance: '52', keepSuspendedMs: 9 * DAY })
  await person(t, 'ann@example.com', 'owner')
  await person(t, 'boris@example.com', 'billing', 'ru')
  await person(t, 'max@example.com', 'member')
  await person(t, 'vera@example.com', 'viewer')
  await make(t, SMALL)
  expect(await hours(t, 12)).toEqual([])
  const low = await hours(t, 100)
  expect(low).toEqual([
    'ann@example.com: Your balance at localhost lasts less than 3 days',
    'boris@example.com: Баланс на localhost закончится меньше чем через 3 дня',
    'ann@example.com: Your balance at localhost lasts less than a day',
    'boris@example.com: Баланс на localhost закончится меньше чем через день',
  ])
  expect(t.mails[0]?.text).toContain(`Open billing: http://localhost/billing?account=${t.accountId}\n`)
  const suspended = await hours(t, 72)
  expect(suspended).toEqual([
    'ann@example.com: Your servers at localhost are suspended',
    'boris@example.com: Ваши серверы на localhost приостановлены',
    'max@example.com: Your servers at localhost are suspended',
  ])
  expect(t.mails.at(-1)?.text).toMatch(/the first on \d+ December 2026 at \d\d:\d\d UTC/)
  const [owner] = await hours(t, 48)
  expect(owner).toBe('ann@example.com: Your servers at localhost will be deleted within 7 days')
  const last = await hours(t, 6 * 24)
  expect(last[0]).toBe('ann@example.com: Your servers at localhost will be deleted within a day')
  expect(last.length).toBe(3)
  expect((await t.call('GET', '/servers')).body.total).toBe(0)
  expect(await hours(t, 24)).toEqual([])
})

test('processes that look at the same moment send a warning once', async () => {
  const t = await testApp({ balance: '15' })
  await person(t, 'ann@example.com', 'owner')
  await make(t, SMALL)
  t.clock.advance(2 * HOUR)
  await Promise.all([t.app.billing.look(), t.app.billing.look(), t.app.billing.look()])
  await t.app.mails.look()
  expect(t.mails.map(({ to }) => to)).toEqual(['ann@example.com'])
})

test('a balance that goes up and down warns once a day at most, and an account without people at its own address', async () => {
  const t = await testApp({ balance: '30.2' })
  await make(t, SMALL)
  const { email } = (await t.call('GET', '/account/me')).body
  expect(await hours(t, 20)).toEqual([`${email}: Your balance at localhost lasts less than 3 days`])
  const pay = (amount: string) => {
    const entry = { accountId: t.accountId, type: 'correction', description: 'x' } as const
    return book(t, { ...entry, amount: parseMoney(amount) })
  }
  for (const amount of ['100', '-100', '100', '-100']) await pay(amount)
  expect(await hours(t, 1)).toEqual([])
})

test('people read who suspended their account, why and since when: by mail, in the account and in each refusal', async () => {
  const catalog = parseCatalog(`${catalogText}${operator}`, 'catalog.yaml')
  const t = await testApp({ catalog })
  await person(t, 'ann@example.com', 'owner')
  await person(t, 'vera@example.com', 'viewer')
  const at = new Date(t.clock.now()).toISOString()
  const change = { from: ['active'], to: 'suspended', reason: 'It sends spam.' } as const
  await changeStatus({ db: t.db, clock: t.clock, quotas }, t.accountId, change)
  expect((await t.call('GET', '/account/me')).body).toMatchObject({
    ...{ status: 'suspended', status_reason: 'It sends spam.', status_since: at },
  })
  expect((await t.call('POST', '/account/projects', { name: 'x' })).body.detail).toBe(
    `The account is suspended since ${at}: It sends spam. It can read, stop, delete, pay and answer complaints. Ask the operator to resume it. Contact: help@example.com.`,
  )
  expect(await hours(t, 2)).toEqual(['ann@example.com: Your account at localhost is suspended'])
  expect(t.mails[0]?.text).toContain('The reason: It sends spam.')
  expect(t.mails[0]?.text).toMatch(/-- \nExample Cloud, help@example\.com\n$/)
  expect(t.mails[0]?.html).toContain('<p>Example Cloud, help@example.com</p>')
})

test('where an operator has a page for payments, refusals for the balance, the balance and the mails lead to it', async () => {
  const catalog = parseCatalog(`${catalogText}${operator}`, 'catalog.yaml')
  const t = await testApp({ catalog, balance: '15' })
  const page = `https://pay.example.com/?account=${t.accountId}`
  await make(t, SMALL)
  expect((await t.call('GET', '/account/balance')).body.top_up_url).toBe(page)
  const { status, body } = await t.call('POST', '/servers', await order(t.call))
  expect([status, body.detail.endsWith(`Top up the balance first. Pay at ${page}.`)]).toEqual([402, true])
  await hours(t, 2)
  expect(t.mails[0]?.link).toBe(page)
})

test('people read once that suspended servers are resumed, also if the first were deleted meanwhile', async () => {
  const t = await testApp({ balance: '20' })
  await person(t, 'ann@example.com', 'owner')
  await person(t, 'boris@example.com', 'member', 'ru')
  await person(t, 'vera@example.com', 'viewer')
  const first = await make(t, SMALL)
  await make(t, SMALL)
  expect(await hours(t, 72)).toContain('ann@example.com: Your servers at localhost are suspended')
  await t.call('DELETE', `/servers/${first}`)
  expect(await hours(t, 1)).toEqual([])
  await book(t, {
    ...{ accountId: t.accountId, type: 'payment', description: 'x' },
    amount: parseMoney('1000'),
  })
  expect(await hours(t, 2)).toEqual([
    'ann@example.com: Your servers at localhost are resumed',
    'boris@example.com: Ваши серверы на localhost возобновили работу',
  ])
  expect(t.mails.at(-2)?.link).toMatch(/^http:\/\/localhost\/servers/)
  expect(await hours(t, 26)).toEqual([])
})

test('nobody reads that servers are resumed after all of them were deleted', async () => {
  const t = await testApp({ balance: '15' })
  await person(t, 'ann@example.com', 'owner')
  const server = await make(t, SMALL)
  expect(await hours(t, 72)).toContain('ann@example.com: Your servers at localhost are suspended')
  await t.call('DELETE', `/servers/${server}`)
  await hours(t, 1)
  await book(t, {
    ...{ accountId: t.accountId, type: 'payment', description: 'x' },
    amount: parseMoney('1000'),
  })
  await make(t, SMALL)
  expect(await hours(t, 2)).toEqual([])
})

test('people read that their account is resumed, and why, if they had read that it was suspended', async () => {
  const t = await testApp()
  await person(t, 'ann@example.com', 'owner')
  const to = (status: 'active' | 'suspended', reason: string) => {
    const change = { from: ['active', 'suspended'] as const, to: status, reason }
    return changeStatus({ db: t.db, clock: t.clock, quotas }, t.accountId, {
      ...change,
      from: [...change.from],
    })
  }
  await to('suspended', 'A slip.')
  await to('active', 'A slip.')
  expect(await hours(t, 1)).toEqual([])
  await to('suspended', 'It sends spam.')
  expect(await hours(t, 1)).toEqual(['ann@example.com: Your account at localhost is suspended'])
  await to('active', 'The spam has ended.')
  expect(await hours(t, 1)).toEqual(['ann@example.com: Your account at localhost is resumed'])
  expect(t.mails.at(-1)?.text).toContain('The reason: The spam has ended.')
  await to('suspended', 'Again.')
  await to('active', 'It was not so.')
  expect(await hours(t, 26)).toEqual([])
})

test('an account whose people can not be warned keeps no other from its mail, and is tried again', async () => {
  const t = await testApp()
  const later = (await createAccount(t.db, t.clock, { email: 'later@example.com', name: 'Later' })) ?? ''
  const suspend = (accountId: string) =>
    changeStatus({ db: t.db, clock: t.clock, quotas }, accountId, {
      ...{ from: ['active'], to: 'suspended', reason: 'It sends spam.' },
    })
  await suspend(t.accountId)
  t.clock.advance(1_000)
  await suspend(later)
  const { email } = (await t.call('GET', '/account/me')).body
  // The number of this account's rows is too large for both databases.
  await sql`CREATE INDEX broken ON warnings
    (abs(CASE WHEN account_id = ${sql.lit(t.accountId)} THEN -9223372036854775807 - 1 ELSE 0 END))`.execute(
    t.db,
  )
  expect(await hours(t, 1)).toEqual(['later@example.com: Your account at localhost is suspended'])
  await sql`DROP INDEX broken`.execute(t.db)
  expect(await hours(t, 1)).toEqual([`${email}: Your account at localhost is suspended`])
})
