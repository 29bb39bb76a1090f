import { expect, test } from 'vitest'
import { catalogWith } from '../harness/addresses.ts'
import { type TestApp, testApp } from '../harness/app.ts'
import { ed25519 } from './harness/keys.ts'
import { issues, make } from './harness/ordering.ts'

/** The path of each kind of object besides servers, the name of its id, and a body that creates one. */
const kinds: [path: string, id: string, body: (t: TestApp) => object | Promise<object>][] = [
  ['/account/ssh_keys', 'ssh_key_id', () => ({ name: 'laptop', public_key: ed25519() })],
  ['/networks', 'network_id', () => ({ name: 'inner', zone_slug: 'local-1', ip_range: '10.1.0.0/24' })],
  ['/firewalls', 'firewall_id', () => ({ name: 'web' })],
  ['/volumes', 'volume_id', () => ({ name: 'data', zone_slug: 'local-1', size_gb: 10 })],
  ['/addresses', 'address_id', () => ({ zone_slug: 'local-1', family: 'ipv4' })],
  ['/snapshots', 'snapshot_id', async (t) => ({ server_id: await make(t) })],
  ['/images', 'image_id', async (t) => ({ name: 'golden', snapshot_id: await snapshot(t) })],
  ['/images', 'image_id', () => ({ name: 'file', zone_slug: 'local-1', upload: true, content_bytes: 1024 })],
]

async function snapshot(t: TestApp): Promise<string> {
  const { body } = await t.call('POST', '/snapshots', { server_id: await make(t) })
  await t.finish()
  return body.snapshot_id
}

const withLabels = () => testApp({ catalog: catalogWith('public_ipv4: [203.0.113.0/29]') })

test.each(kinds)(
  'an object of %s (%s) has labels from the start, and is listed by them',
  async (path, id, body) => {
    const t = await withLabels()
    const plain = await t.call('POST', path, await body(t))
    expect(plain.body).toMatchObject({ labels: {} })
    const order = { ...(await body(t)), labels: { env: 'prod', 'a/b': '' } }
    const made = await t.call('POST', path, order)
    expect(made.body.labels).toEqual({ env: 'prod', 'a/b': '' })
    await t.finish()
    const listed = async (label: string) =>
      (await t.call('GET', `${path}?label=${encodeURIComponent(label)}`)).body.items.map(
        (item: Record<string, string>) => item[id],
      )
    expect(await listed('env=prod')).toEqual([made.body[id]])
    expect(await listed('!env')).toContain(plain.body[id])
    const one = `${path}/${made.body[id]}`
    const change = await t.call('PATCH', one, { labels: { env: 'test' } })
    expect([change.status, change.body.labels]).toEqual([200, { env: 'test' }])
    expect((await t.call('GET', one)).body.labels).toEqual({ env: 'test' })
    expect(await listed('env=prod')).toEqual([])
    if (path !== '/addresses') await t.call('PATCH', one, { name: 'renamed' })
    expect((await t.call('GET', one)).body.labels).toEqual({ env: 'test' })
  },
)

test.each(kinds)('labels of an object of %s (%s) have the limits of a server', async (path, _, body) => {
  const t = await withLabels()
  const order = await body(t)
  const wrong = await t.call('POST', path, { ...order, labels: { '-': 'x' } })
  expect([wrong.status, issues(wrong.body)]).toEqual([422, [['/labels', 'invalid_format']]])
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`n${n}`, '']))
  expect((await t.call('POST', path, { ...order, labels: many })).status).toBe(422)
})
