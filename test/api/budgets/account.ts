import { expect } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { deliver, endpoint, LOOPBACK } from '../harness/endpoint.ts'
import { ed25519 } from '../harness/keys.ts'
import { order } from '../harness/ordering.ts'
import { streamer } from '../harness/sse.ts'
import type { Meter } from './meter.ts'

/** Uses the routes of a program's account, but for those of servers. */
export async function walkAccount(meter: Meter): Promise<void> {
  const { url } = await endpoint((_, reply) => void reply.end())
  const t = await testApp({ webhookAllow: LOOPBACK })
  const call = meter.measured(t, t.call, '/account/me')
  const first = await call('POST', '/account/projects', { name: 'first' })
  await meter.note('POST /account/projects with an Idempotency-Key', () =>
    t.call('POST', '/account/projects', { name: 'second' }, { 'idempotency-key': 'k' }),
  )
  await meter.note('the same again', () =>
    t.call('POST', '/account/projects', { name: 'second' }, { 'idempotency-key': 'k' }),
  )
  const project = `/account/projects/${first.body.project_id}`
  for (const path of [project, '/account/projects', '/account/me']) await call('GET', path)
  await call('PATCH', project, { name: 'third' })
  await call('DELETE', project)

  const key = await call('POST', '/account/ssh_keys', { name: 'laptop', public_key: ed25519() })
  await call('POST', '/account/ssh_keys', { name: 'desktop', public_key: ed25519() })
  const sshKey = `/account/ssh_keys/${key.body.ssh_key_id}`
  for (const path of [sshKey, '/account/ssh_keys']) await call('GET', path)
  await call('PATCH', sshKey, { name: 'old laptop' })
  await call('DELETE', sshKey)

  const made = await call('POST', '/account/tokens', { name: 'ci', scopes: ['read'] })
  const token = `/account/tokens/${made.body.token_id}`
  for (const path of [token, '/account/tokens']) await call('GET', path)
  const use = () => t.callAs(made.body.token)('GET', '/zones')
  await meter.note('a request with a token that was not used for a minute', use)
  await meter.note('a request with a token', use)
  await call('DELETE', token)

  const hook = await call('POST', '/webhooks', { name: 'mine', url, event_types: ['*'] })
  await meter.note('verify a webhook', () => deliver(t))
  const webhook = `/webhooks/${hook.body.webhook_id}`
  await call('POST', `${webhook}/test`)
  await call('PATCH', webhook, { name: 'ours' })
  await meter.note('relay an event', () => t.app.events.relay())
  await meter.note('deliver it to a webhook', () => deliver(t))
  for (const path of [webhook, '/webhooks', `${webhook}/deliveries`]) await call('GET', path)
  await call('POST', `${webhook}/rotate-secret`)
  await call('DELETE', webhook)

  const reads = ['/account/balance', '/account/transactions', '/account/usage', '/account/usage.csv']
  const catalogue = ['/zones', '/templates', '/pricing/capacity', '/events', '/account/audit']
  const sizes = ['presets', 'limits'].map((name) => `/pricing/${name}?zone_slug=local-1&cpu_type=amd`)
  for (const path of [...reads, ...catalogue, ...sizes]) await call('GET', path)
  await call('POST', '/pricing/quote', await order(t.call))
  const open = await streamer(t)
  const stream = await meter.note('GET /events/stream', async () => {
    const opened = await open(t.token)
    const next = opened.listener.next().catch(() => null)
    await expect.poll(() => opened.listener.lastId).not.toBe('')
    return { ...opened, next }
  })
  stream.hangUp()
  await stream.next
}
