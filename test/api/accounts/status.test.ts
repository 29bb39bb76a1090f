import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { changeQuotas, changeStatus } from '../../../api/accounts/accounts.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { quotas } from '../../../api/features.ts'
import { onBehalfOf } from '../../../api/http/limits/origin.ts'
import { type Call, type TestApp, testApp } from '../../harness/app.ts'
import { read } from '../../harness/sources.ts'
import { deliver, endpoint, hook, LOOPBACK } from '../harness/endpoint.ts'
import { make } from '../harness/ordering.ts'

const document: { paths: Record<string, Record<string, { operationId: string; security: object[] }>> } =
  JSON.parse(read('openapi.json'))
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { operationId, security }]) =>
    // The others are for people, or open to everybody, whatever their account.
    security.some((way) => 'token' in way) ? [{ method: method.toUpperCase(), path, id: operationId }] : [],
  ),
)

const PAYING = ['createPayment', 'setAutoTopUp', 'redeemPromoCode', 'createTransfer']

/** The requests that an inactive account may send besides reads. */
const allowed = {
  suspended: ({ method, id }: { method: string; id: string }) =>
    // Money is what most suspended accounts lack.
    method === 'DELETE' || [...PAYING, 'stopServer', 'answerComplaint'].includes(id) || isRead(method, id),
  closed: ({ method, id }: { method: string; id: string }) => isRead(method, id),
}

function isRead(method: string, id: string): boolean {
  return id === 'quoteServer' || (method === 'GET' && id !== 'streamEvents')
}

function to(t: TestApp, status: 'active' | 'suspended' | 'closed') {
  const change = { from: ['active', 'suspended'] as const, to: status, reason: 'spam was sent' }
  const origin = {
    action: 'berthd account, by alice',
    tokenId: null,
    person: null,
    address: null,
    requestId: randomUUID(),
  }
  return onBehalfOf(origin, () => changeStatus({ ...t, quotas }, t.accountId, change))
}

test.each(['suspended', 'closed'] as const)(
  'what an account may do that is %s, by every route',
  async (status) => {
    const t = await testApp()
    await to(t, status)
    const wrong: string[] = []
    for (const operation of operations) {
      const path = operation.path.replace(/^\/v1/, '').replace(/\{\w+\}/g, randomUUID())
      const method = operation.method as Parameters<Call>[0] // of a document that has these methods only
      const { status: code, body } = await t.call(method, path, method === 'GET' ? undefined : {})
      const isRefused = code === 403 && body.code === 'account_suspended'
      if (isRefused === allowed[status](operation)) wrong.push(`${operation.id}: ${code} ${body.code}`)
    }
    expect(operations.length).toBeGreaterThan(30)
    expect(wrong).toEqual([])
  },
)

test('the machines of a suspended account stop, and run again when it is resumed', async () => {
  const t = await testApp()
  const [on, off] = [await make(t), await make(t, { start_on_create: false })]
  await t.finish()
  const shown = async (id: string) => {
    const { status, status_reason } = (await t.call('GET', `/servers/${id}`)).body
    return [status, status_reason]
  }
  await to(t, 'suspended')
  await t.app.billing.look()
  await t.finish()
  expect([await shown(on), await shown(off)]).toEqual([
    ['suspended', 'account_suspended'],
    ['suspended', 'account_suspended'],
  ])
  expect(await t.driver.inspect(on)).toMatchObject({ power: 'stopped' })
  await t.app.billing.look()
  await t.finish()
  expect((await shown(on))[0]).toBe('suspended')
  await to(t, 'active')
  await t.app.billing.look()
  await t.finish()
  expect([await shown(on), await shown(off)]).toEqual([
    ['running', null],
    ['stopped', null],
  ])
})

test('nothing is sent to the webhooks of a suspended account until it is resumed', async () => {
  const t = await testApp({ webhookAllow: LOOPBACK })
  const { url, received } = await endpoint((_, reply) => reply.end())
  await hook(t, url, ['account.updated'])
  await to(t, 'suspended')
  await deliver(t)
  expect(received).toEqual([])
  await to(t, 'active')
  await deliver(t)
  expect(received.map(({ body }) => JSON.parse(body).data.status)).toEqual(['suspended', 'active'])
})

test('the audit has who changed the status, and the events why', async () => {
  const t = await testApp()
  await to(t, 'suspended')
  await changeQuotas({ ...t, quotas }, t.accountId, { change: { servers: 1 }, reason: 'a trial' })
  const { items } = (await t.call('GET', '/account/audit')).body
  expect(items).toMatchObject([
    { action: 'berthd account, by alice', object_type: 'account', object_id: t.accountId },
  ])
  const events = (await t.call('GET', '/events')).body.items
  expect(events.slice(-2)).toMatchObject([
    { type: 'account.updated', data: { status: 'suspended', reason: 'spam was sent' } },
    { type: 'account.updated', data: { quotas: { servers: 1, cpu: 64 }, reason: 'a trial' } },
  ])
  expect((await t.call('GET', '/account/me')).body.quotas.servers.limit).toBe(1)
  const back = await changeQuotas({ ...t, quotas }, t.accountId, {
    change: { servers: null },
    reason: 'paid',
  })
  expect(back.servers).toBe(20)
})

test('a server that was free is free also after its account was suspended and resumed', async () => {
  const t = await testApp()
  for (let attempt = 0; attempt < 6; attempt++)
    t.driver.failNext('define', new DriverError('disk_full', 'full'))
  const id = await make(t)
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('error')
  await to(t, 'suspended')
  await t.app.billing.look()
  await t.finish()
  await to(t, 'active')
  await t.app.billing.look()
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('stopped')
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  t.clock.advance(3 * 3600_000)
  await t.app.billing.look()
  const { items } = (await t.call('GET', '/account/transactions')).body
  expect(items.filter((entry: { type: string }) => entry.type === 'charge')).toEqual([])
})
