import { Writable } from 'node:stream'
import pino from 'pino'
import { expect, test } from 'vitest'
import { type TestApp, testApp } from '../../harness/app.ts'
import { deliverAll, endpoint, LOOPBACK } from '../harness/endpoint.ts'
import { ed25519, privateKey } from '../harness/keys.ts'
import { order } from '../harness/ordering.ts'

/** Keeps all that is logged, however unimportant. */
function notebook() {
  const lines: string[] = []
  const write: Writable['_write'] = (chunk, _, done) => {
    lines.push(String(chunk))
    done()
  }
  return { log: pino({ level: 'trace' }, new Writable({ write })), lines }
}

function tablesOf({ db }: TestApp) {
  return Promise.all([
    db.selectFrom('events').selectAll().execute(),
    db.selectFrom('audit').selectAll().execute(),
    db.selectFrom('deliveries').selectAll().execute(),
    db.selectFrom('operations').selectAll().execute(),
  ])
}

test('no token, password, user data or webhook secret is in any log line, event, audit entry, delivery or error', async () => {
  const { log, lines } = notebook()
  const t = await testApp({ log, webhookAllow: LOOPBACK })
  let isDown = true
  const { received, url } = await endpoint((_, reply) => {
    reply.statusCode = isDown ? 500 : 200
    reply.end('ok')
  })
  const userData = '#cloud-config\n# the-user-data-of-this-test\n'
  const replies: string[] = []
  const call: typeof t.call = async (...request) => {
    const reply = await t.call(...request)
    if (reply.status >= 400) replies.push(JSON.stringify(reply.body))
    return reply
  }
  const hook = (await call('POST', '/webhooks', { name: 'all', url, event_types: ['*'] })).body
  const token = (await call('POST', '/account/tokens', { name: 'ci', scopes: ['read', 'write'] })).body
  await call('POST', '/account/ssh_keys', { name: 'k', public_key: ed25519() })
  const mistake = privateKey()
  await call('POST', '/account/ssh_keys', { name: 'k', public_key: mistake })
  const key = { 'idempotency-key': 'the-key-of-this-test' }
  const made = await t.call('POST', '/servers', await order(t.call, { user_data: userData }), key)
  await t.finish()
  const id = made.body.server_id
  const { password } = (await call('GET', `/servers/${id}/details`)).body.ssh
  expect(password).toHaveLength(20)
  await call(
    'POST',
    '/servers',
    await order(t.call, { user_data: userData, cpu: 'many', zone_slug: 'nowhere' }),
  )
  await call('POST', '/account/tokens', { name: 'x', scopes: ['read'], token: token.token })
  await call('PATCH', `/webhooks/${hook.webhook_id}`, { secret: hook.secret })
  for (const bad of [`${token.token}x`, token.token.slice(0, -1)])
    replies.push(JSON.stringify((await t.callAs(bad)('GET', `/account/me?token=${token.token}`)).body.detail))
  t.driver.turnsOffByItself(id, 'crashed')
  await t.app.reconciler.look()
  await t.finish()
  t.driver.failNext('start', new Error('the machine said no'))
  await call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  await call('POST', `/servers/${id}/start`)
  await t.finish()
  await call('DELETE', `/servers/${id}`)
  await t.finish()
  await call('DELETE', `/account/tokens/${token.token_id}`)
  await t.app.events.look()
  isDown = false
  await deliverAll(t)

  const tables = await tablesOf(t)
  for (const rows of tables) expect(rows.length).toBeGreaterThan(3)
  expect(received.length).toBeGreaterThan(10)
  const written = [...lines, ...replies, JSON.stringify(tables), JSON.stringify(received)].join('\n')
  const privateLine = mistake.split('\n')[1] ?? 'nothing'
  const secrets = [token.token.slice(6, 40), hook.secret.slice(6), password, 'the-user-data', privateLine]
  for (const secret of secrets) expect(written.includes(secret), secret).toBe(false)
})
