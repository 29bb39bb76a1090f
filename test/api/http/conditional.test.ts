import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

test('a catalogue reply that a client has seen already is not sent again', async () => {
  const t = await testApp()
  const zone = 'zone_slug=local-1&cpu_type=amd'
  for (const [path, cacheControl] of [
    ['/zones', 'private, max-age=60'],
    ['/templates', 'private, max-age=60'],
    [`/pricing/limits?${zone}`, 'private, max-age=60'],
    [`/pricing/presets?${zone}`, 'no-cache'],
    ['/pricing/capacity', 'no-cache'],
  ] as const) {
    const first = await t.call('GET', path)
    expect([first.status, first.headers['cache-control']]).toEqual([200, cacheControl])
    const etag = first.headers.etag ?? ''
    for (const seen of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await t.call('GET', path, undefined, { 'if-none-match': seen })
      expect(again).toMatchObject({ status: 304, body: '', headers: { etag, 'cache-control': cacheControl } })
    }
    expect((await t.call('GET', path, undefined, { 'if-none-match': '"other"' })).status).toBe(200)
  }
})

test('HEAD of what a client has seen already is a 304 too', async () => {
  const t = await testApp()
  const { etag = '' } = (await t.call('GET', '/zones')).headers
  const reply = await t.call('HEAD', '/zones', undefined, { 'if-none-match': etag })
  expect([reply.status, reply.body]).toEqual([304, ''])
})

test('a change that is based on an older version of a server is refused', async () => {
  const t = await testApp()
  const id = await make(t)
  const { etag = '' } = (await t.call('GET', `/servers/${id}`)).headers
  expect((await t.call('PATCH', `/servers/${id}`, { name: 'one' }, { 'if-match': etag })).status).toBe(200)
  expect(await t.call('PATCH', `/servers/${id}`, { name: 'two' }, { 'if-match': etag })).toMatchObject({
    status: 412,
    body: { code: 'precondition_failed' },
  })
  expect((await t.call('GET', `/servers/${id}`)).body.name).toBe('one')
  expect((await t.call('PATCH', `/servers/${id}`, { name: 'three' }, { 'if-match': '*' })).status).toBe(200)
})

test('if two changes are based on the same version of a project, one succeeds', async () => {
  const t = await testApp()
  const { body } = await t.call('POST', '/account/projects', { name: 'a' })
  const path = `/account/projects/${body.project_id}`
  const first = await t.call('PATCH', path, { name: 'b' })
  t.clock.advance(1)
  const match = { 'if-match': first.headers.etag ?? '' }
  const replies = await Promise.all(['c', 'd'].map((name) => t.call('PATCH', path, { name }, match)))
  expect(replies.map((reply) => reply.status).sort()).toEqual([200, 412])
})

test('if two clients each add a rule to the same firewall, one must read it again', async () => {
  const t = await testApp()
  const { firewall_id } = (await t.call('POST', '/firewalls', { name: 'a' })).body
  const path = `/firewalls/${firewall_id}`
  const { etag = '' } = (await t.call('GET', path)).headers
  expect((await t.call('GET', path, undefined, { 'if-none-match': etag })).status).toBe(304)
  const rules = (port: string) => [{ direction: 'in', protocol: 'tcp', ports: port, cidrs: ['0.0.0.0/0'] }]
  const replies = await Promise.all(
    ['80', '443'].map((port) => t.call('PATCH', path, { rules: rules(port) }, { 'if-match': etag })),
  )
  expect(replies.map((reply) => reply.status).sort()).toEqual([200, 412])
  expect((await t.call('PATCH', path, { name: 'b' })).body.rules).toHaveLength(1)
})
