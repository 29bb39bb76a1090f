import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

test('each request that changes something is in the audit once, with who, from where and which request', async () => {
  const t = await testApp()
  const id = await make(t)
  const changes: [action: string, reply: { status: number; headers: Record<string, string | undefined> }][] =
    [
      ['createProject', await t.call('POST', '/account/projects', { name: 'Shop' })],
      ['updateServer', await t.call('PATCH', `/servers/${id}`, { name: 'renamed', labels: { a: 'b' } })],
      ['stopServer', await t.call('POST', `/servers/${id}/stop`)],
      ['createToken', await t.call('POST', '/account/tokens', { name: 'ci', scopes: ['read'] })],
    ]
  await t.finish()
  changes.push(['deleteServer', await t.call('DELETE', `/servers/${id}`)])
  await t.finish()
  const { items, total } = (await t.call('GET', '/account/audit?limit=5')).body
  expect(total).toBe(6)
  const { token_id } = (await t.call('GET', '/account/me')).body.token
  expect(items).toMatchObject(
    changes
      .map(([action, { headers }]) => ({
        action,
        request_id: headers['x-request-id'],
        token_id,
        address: '127.0.0.1',
      }))
      .reverse(),
  )
  expect(items[0]).toMatchObject({ object_type: 'server', object_id: id })
})

test('requests that are refused, replayed or change nothing leave no audit entry, nor does the service itself', async () => {
  const t = await testApp()
  const key = { 'idempotency-key': 'once' }
  const body = await order(t.call)
  const made = await t.call('POST', '/servers', body, key)
  await t.finish()
  await t.call('POST', '/servers', body, key)
  await t.call('POST', '/account/projects', { name: '' })
  await t.call('POST', `/servers/${made.body.server_id}/start`)
  await t.call('POST', '/pricing/quote', body)
  t.driver.turnsOffByItself(made.body.server_id, 'crashed')
  await t.app.reconciler.look()
  await t.finish()
  const { items } = (await t.call('GET', '/account/audit')).body
  expect(items.map(({ action }: { action: string }) => action)).toEqual(['createServer'])
  const other = t.callAs(await t.makeToken(['read'], { accountId: await t.makeAccount() }))
  expect((await other('GET', '/account/audit')).body).toEqual({ items: [], total: 0 })
})

test('the address is that of the caller: behind a proxy that the operator names, the last one that it passes on', async () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' }
  const seenBy = async (trustProxy?: string[]) => {
    const t = await testApp(trustProxy ? { trustProxy } : {})
    await t.call('POST', '/account/projects', { name: 'Shop' }, forwarded)
    return (await t.call('GET', '/account/audit')).body.items[0].address
  }
  expect(await seenBy(['127.0.0.1/32', '::1/128'])).toBe('198.51.100.7')
  expect(await seenBy(['127.0.0.0/8', '198.51.100.0/24'])).toBe('203.0.113.9')
  expect(await seenBy(['192.0.2.0/24'])).toBe('127.0.0.1')
  expect(await seenBy()).toBe('127.0.0.1')
})

test('a change that is undone leaves neither entry nor event', async () => {
  const t = await testApp()
  for (let count = 0; count < 51; count++) await t.call('POST', '/account/projects', { name: `p${count}` })
  expect((await t.call('POST', '/account/projects', { name: 'one too many' })).status).toBe(403)
  const { projects } = (await t.call('GET', '/account/me')).body.quotas
  expect((await t.call('GET', '/account/audit')).body.total).toBe(projects.used - 1)
  const { items } = (await t.call('GET', '/events?limit=200')).body
  expect(items.filter(({ type }: { type: string }) => type === 'project.created')).toHaveLength(projects.used)
})

test('an entry names the process that wrote it, to the operator alone', async () => {
  const t = await testApp()
  await t.call('POST', '/account/projects', { name: 'Shop' })
  const written = await t.db.selectFrom('audit').select('process').execute()
  expect(written).toEqual([{ process: `${hostname()} ${process.pid}` }])
  const [shown] = (await t.call('GET', '/account/audit')).body.items
  expect(JSON.stringify(shown)).not.toContain(hostname())
})
