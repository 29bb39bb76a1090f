// Limits that grow with what an account has paid, by the steps of the catalogue.
import { expect, test } from 'vitest'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { limitNames } from '../../../api/catalog/limit-steps.ts'
import { quotas } from '../../../api/features.ts'
import { catalogText } from '../../harness/app.ts'
import { withShop } from '../operator/harness/shop.ts'

const STEPS = `account_limits:
  - paid_rub: "500.00"
    limits: { servers: 5, projects: 60 }
  - paid_rub: "1000.00"
    limits: { servers: 30 }
`
const withSteps = (steps = STEPS) => parseCatalog(`${catalogText}\n${steps}`, 'catalog.yaml')

/** An app with steps, whose account has paid nothing, and its limits of servers and projects. */
async function begun(steps?: string) {
  const { t, shop } = await withShop({ catalog: withSteps(steps), balance: '0' })
  await t.app.limitKeeper.look()
  /** The limits of the account with their reasons, by name. */
  const limits = async () => {
    const { quotas, limit_reasons } = (await t.call('GET', '/account/me')).body
    const all = Object.keys(quotas).map((name) => [name, { ...quotas[name], ...limit_reasons[name] }])
    return Object.fromEntries(all)
  }
  let bookings = 0
  const book = async (kind: 'credit' | 'debit', amount: string, type = 'payment') => {
    bookings += 1
    const booking = { amount, type, reason: 'Test', reference: `test-${bookings}` }
    const { status } = await shop('POST', `/operator/accounts/${t.accountId}/${kind}`, booking)
    expect(status).toBe(200)
  }
  const set = (servers: number | null) =>
    shop('POST', `/operator/accounts/${t.accountId}/limits`, { limits: { servers }, reason: 'Test' })
  return { t, shop, limits, book, set }
}

test('limits rise with what was paid, not with gifts, and fall with what was paid back', async () => {
  const { limits, book } = await begun()
  const servers = async () => {
    const { limit, reason, next } = (await limits()).servers
    return [limit, reason, next?.paid_rub ?? null, next?.limit ?? null]
  }
  expect(await servers()).toEqual([2, 'unpaid', '500.00', 5])
  await book('credit', '5000.00', 'correction')
  await book('credit', '499.99')
  expect(await servers()).toEqual([2, 'unpaid', '500.00', 5])
  await book('credit', '0.01')
  expect(await servers()).toEqual([5, 'paid', '1000.00', 30])
  await book('credit', '500.00')
  expect(await servers()).toEqual([30, 'paid', null, null])
  await book('debit', '0.01')
  expect(await servers()).toEqual([5, 'paid', '1000.00', 30])
  const { projects, cpu, tokens } = await limits()
  expect(projects).toMatchObject({ limit: 60, reason: 'paid', next: null })
  // Others rise with the first payment, as without steps.
  expect(cpu).toMatchObject({ limit: 64, reason: 'paid', next: null })
  expect(tokens).toMatchObject({ limit: 50, reason: 'default', next: null })
})

test('an account may use what its payments gave it, and a refusal says how much more raises the limit', async () => {
  const { t, book } = await begun(
    'account_limits: [{ paid_rub: "0", limits: { projects: 2 } }, { paid_rub: "100.00", limits: { projects: 3 } }, { paid_rub: "250.00", limits: { projects: 4 } }]',
  )
  const create = async (name: string) => (await t.call('POST', '/account/projects', { name })).status
  expect([await create('a'), await create('b')]).toEqual([201, 403])
  await book('credit', '100.00')
  expect(await create('b')).toBe(201)
  const refused = await t.call('POST', '/account/projects', { name: 'c' })
  expect([refused.status, refused.body.code, refused.body.quota.limit]).toEqual([403, 'quota_exceeded', 3])
  expect(refused.body.detail).toContain('pay 150.00 rubles more: 250.00 in all raise it to 4')
  await book('credit', '150.00')
  expect(await create('c')).toBe(201)
})

test('the larger of the operator’s own limit and the step holds, and one below that of new accounts always', async () => {
  const { limits, book, set } = await begun()
  const servers = async () => {
    const { limit, reason } = (await limits()).servers
    return [limit, reason]
  }
  await set(10)
  expect(await servers()).toEqual([10, 'own'])
  await book('credit', '500.00')
  expect(await servers()).toEqual([10, 'own'])
  await book('credit', '500.00')
  expect(await servers()).toEqual([30, 'paid'])
  await set(40)
  expect(await servers()).toEqual([40, 'own'])
  await set(0)
  expect((await limits()).servers).toMatchObject({ limit: 0, reason: 'own', next: null })
  await set(null)
  expect(await servers()).toEqual([30, 'paid'])
})

test('without steps the first payment raises limits, and the operator’s own replace them', async () => {
  const { limits, book, set } = await begun('')
  expect((await limits()).servers).toMatchObject({
    limit: 2,
    reason: 'unpaid',
    next: { paid_rub: '0.01', limit: 20 },
  })
  await book('credit', '1.00')
  expect((await limits()).servers).toMatchObject({ limit: 20, reason: 'paid', next: null })
  await set(3)
  expect((await limits()).servers).toMatchObject({ limit: 3, reason: 'own', next: null })
})

test('steps that fall, repeat a sum or name no limit are mistakes of the catalogue', () => {
  const faults =
    (...entries: string[]) =>
    () =>
      withSteps(`account_limits: [${entries.join(', ')}]\n`)
  const step = (paid: string, limits: string) => `{ paid_rub: "${paid}", limits: { ${limits} } }`
  expect(faults(step('1.00', 'servers: 5'), step('2.00', 'servers: 4'))).toThrow(/servers falls from 5 to 4/)
  expect(faults(step('2.00', 'servers: 5'), step('2.00', 'cpu: 9'))).toThrow(/more than in the entry before/)
  expect(faults(step('2.00', 'sevrers: 5'))).toThrow(/no such limit: sevrers/)
  expect(faults(step('2', 'servers: -5'))).toThrow(/catalog.yaml/)
  expect(limitNames.toSorted()).toEqual(quotas.map(({ name }) => name).toSorted())
})
