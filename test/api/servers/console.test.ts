import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { changeStatus } from '../../../api/accounts/accounts.ts'
import { DriverError } from '../../../api/drivers/driver.ts'
import { quotas } from '../../../api/features.ts'
import { testApp } from '../../harness/app.ts'
import { consoles } from '../harness/console.ts'
import { make, order } from '../harness/ordering.ts'

const enter = '\r'

test('a ticket opens the console: what was printed is shown first, and what is typed is answered', async () => {
  const t = await testApp()
  const { address, connect } = await consoles(t)
  const id = await make(t, { name: 'web-1' })
  const reply = await t.call('POST', `/servers/${id}/console`, {})
  expect(reply).toMatchObject({
    status: 201,
    headers: { location: '/v1/console', 'cache-control': 'no-store' },
    body: {
      url: '/v1/console',
      ticket: expect.stringMatching(/^ticket_[\w-]{43}$/),
      expires_at: new Date(t.clock.now() + 60_000).toISOString(),
    },
  })
  t.driver.prints(id, Buffer.from('earlier\r\n'))
  const console = await connect(reply.body.ticket, { headers: { origin: address } })
  expect(console.socket.protocol).toBe('berth.console.v1')
  await expect.poll(console.shown).toContain('earlier')
  console.type(`echo hello${enter}`)
  await expect.poll(console.shown).toContain('echo hello\r\nhello\r\nweb-1:~# ')
})

test('all viewers see the same, and each may type; a quick one does not wait for one that reads nothing', async () => {
  const t = await testApp()
  const { open } = await consoles(t)
  const id = await make(t)
  const [one, other, slow] = [await open(id), await open(id), await open(id)]
  slow.socket.pause()
  one.type(`echo one${enter}`)
  other.type(`echo other${enter}`)
  for (const { shown } of [one, other]) await expect.poll(shown).toMatch(/\r\none\r\n[\s\S]*\r\nother\r\n/)
  for (let count = 0; count < 200; count++) {
    t.driver.prints(id, Buffer.alloc(256 * 1024, 'x'))
    t.clock.advance(100)
    await new Promise(setImmediate)
  }
  t.driver.prints(id, Buffer.from('\r\nthe end\r\n'))
  await expect
    .poll(() => {
      t.clock.advance(1_000)
      return one.shown()
    })
    .toContain('the end')
  expect(one.shown()).toMatch(/\[\d+ bytes were printed too fast to be shown\]/)
  slow.socket.resume()
  await expect
    .poll(() => {
      t.clock.advance(1_000)
      return slow.shown()
    })
    .toContain('the end')
})

test('a ticket opens one console, within a minute, and is worth nothing then', async () => {
  const t = await testApp()
  const { ask, connect } = await consoles(t)
  const id = await make(t)
  const used = await ask(id)
  await connect(used)
  const late = await ask(id)
  t.clock.advance(60_000)
  for (const wrong of [used, late, 'ticket_guessed', t.token])
    await expect(connect(wrong)).rejects.toThrow('401 invalid_token')
  await expect(connect('', { protocols: ['berth.console.v1'] })).rejects.toThrow('401 invalid_token')
  await expect(connect(await ask(id), { protocols: ['chat'] })).rejects.toThrow('400 bad_request')
})

test('a repeat of the request gets the same ticket by the same token, and none by another', async () => {
  const t = await testApp()
  const id = await make(t)
  const key = { 'idempotency-key': 'once' }
  const first = await t.call('POST', `/servers/${id}/console`, {}, key)
  expect((await t.call('POST', `/servers/${id}/console`, {}, key)).body).toEqual(first.body)
  const other = t.callAs(
    await t.makeToken(['account:read', 'account:write', 'servers:read', 'servers:write']),
  )
  expect((await other('POST', `/servers/${id}/console`, {}, key)).body.code).toBe('idempotency_key_reused')
})

test('a page of another origin opens none, whatever ticket it has', async () => {
  const t = await testApp({ publicUrl: 'https://cloud.example.com/v1' })
  const { address, ask, connect } = await consoles(t)
  const id = await make(t)
  for (const origin of ['https://evil.example', 'null', address.replace(/\d+$/, '1')])
    await expect(connect(await ask(id), { headers: { origin } })).rejects.toThrow('403 origin_not_allowed')
  for (const origin of [address, 'https://cloud.example.com'])
    await connect(await ask(id), { headers: { origin } })
  expect((await t.call('GET', '/console')).body).toMatchObject({ status: 400, code: 'bad_request' })
  const post = await fetch(`${address}/v1/console`, { method: 'POST' })
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})

test('a console ends with its token, and with the account', async () => {
  const t = await testApp()
  const { ask, connect, open } = await consoles(t)
  const id = await make(t)
  const scopes = ['servers:read', 'servers:write']
  const token = (await t.call('POST', '/account/tokens', { name: 'short', scopes })).body
  const [short, lasting, unused] = [await open(id, token.token), await open(id), await ask(id, token.token)]
  await t.app.consoles.look()
  await t.call('DELETE', `/account/tokens/${token.token_id}`)
  await t.app.consoles.look()
  expect(await short.ended).toBe('4001 access_ended')
  await expect(connect(unused)).rejects.toThrow('401 invalid_token')
  await changeStatus({ ...t, quotas }, t.accountId, { from: ['active'], to: 'suspended', reason: 'spam' })
  await t.app.consoles.look()
  expect(await lasting.ended).toBe('4001 access_ended')
})

test('a ticket of a token with addresses opens nothing from elsewhere', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1'] })
  const { address, connect } = await consoles(t)
  const id = await make(t)
  const made = { name: 'office', scopes: ['servers:write'], cidrs: ['203.0.113.0/24'] }
  const { token } = (await t.call('POST', '/account/tokens', made)).body
  const ask = async () => {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '203.0.113.7' }
    const reply = await fetch(`${address}/v1/servers/${id}/console`, { method: 'POST', headers })
    const body: { ticket: string } = JSON.parse(await reply.text())
    return body.ticket
  }
  await expect(connect(await ask(), { headers: { 'x-forwarded-for': '198.51.100.1' } })).rejects.toThrow(
    '401 invalid_token',
  )
  await connect(await ask(), { headers: { 'x-forwarded-for': '203.0.113.9' } })
})

test('a console shows a reboot whole and once, and ends when the server is off', async () => {
  const t = await testApp({ simulator: { bootMs: 1_000, shutdownMs: 1_000 } })
  const { open } = await consoles(t)
  const id = await make(t, { name: 'web-1' })
  const console = await open(id)
  await expect.poll(console.shown).toContain('# ')
  await t.call('POST', `/servers/${id}/reboot`, {})
  await t.finish()
  await expect
    .poll(() => {
      t.clock.advance(1_000)
      return console.shown().match(/Simulated Linux/g)?.length
    })
    .toBe(2)
  console.type(`echo back${enter}`)
  await expect.poll(console.shown).toContain('\r\nback\r\n')
  await t.call('POST', `/servers/${id}/stop`, {})
  await t.finish()
  const ended = console.ended
  for (let isOver = false; !isOver; ) {
    t.clock.advance(1_000)
    isOver = await Promise.race([ended.then(() => true), pause(1, false)])
  }
  expect(await ended).toBe('4000 server_off')
})

test('the boot of a server that is being created is seen from its first line', async () => {
  const t = await testApp({ simulator: { imageMs: 60_000, bootMs: 60_000 } })
  const { open } = await consoles(t)
  const { server_id } = (await t.call('POST', '/servers', await order(t.call, { name: 'web-1' }))).body
  const console = await open(server_id)
  await t.finish()
  await expect
    .poll(() => {
      t.clock.advance(1_000)
      return console.shown()
    })
    .toContain('Simulated Linux on web-1')
})

test('a console client that is idle for an hour, or does not answer pings, is disconnected', async () => {
  const t = await testApp()
  const { open } = await consoles(t)
  const id = await make(t)
  const [idle, typing, dead] = [await open(id), await open(id), await open(id)]
  dead.socket.pause()
  const lives = async (round: string) => {
    t.driver.prints(id, Buffer.from(round))
    typing.type(' ')
    await t.app.consoles.look()
    for (const { shown } of [idle, typing])
      await expect.poll(shown).toMatch(new RegExp(`${round}[\\s\\S]* $`))
  }
  for (let round = 0; round < 10; round++) {
    t.clock.advance(15_000)
    await lives(`<${round}>`)
  }
  dead.socket.resume()
  expect(await dead.ended).toBe('1006 ')
  t.clock.advance(3_550_000)
  typing.type('%')
  await expect.poll(typing.shown).toContain('%')
  await t.app.consoles.look()
  expect(await idle.ended).toBe('4002 idle')
  expect(typing.socket.readyState).toBe(typing.socket.OPEN)
})

test('an account has ten open consoles; one more is refused until one is closed', async () => {
  const t = await testApp()
  const { ask, connect, open } = await consoles(t)
  const id = await make(t)
  const spare = await ask(id)
  const first = await open(id)
  for (let count = 1; count < 10; count++) await open(id)
  const reply = await t.call('POST', `/servers/${id}/console`, {})
  expect(reply).toMatchObject({
    status: 429,
    body: { code: 'rate_limited' },
    headers: { 'retry-after': '5' },
  })
  await expect(connect(spare)).rejects.toThrow('429 rate_limited')
  first.socket.close()
  await expect.poll(async () => (await t.call('POST', `/servers/${id}/console`, {})).status).toBe(201)
})

test('a machine without a console says so, also where the zone has none', async () => {
  const t = await testApp()
  const id = await make(t)
  t.driver.failNext('openConsole', new DriverError('unsupported', 'an old one'))
  expect(await t.call('POST', `/servers/${id}/console`, {})).toMatchObject({
    status: 409,
    body: { code: 'not_supported', feature: 'console', detail: expect.stringContaining('Stop and start it') },
  })
  const without = await testApp({ simulator: { host: { features: [] } } })
  const other = await make(without)
  expect(await without.call('POST', `/servers/${other}/console`, {})).toMatchObject({
    status: 409,
    body: { code: 'not_supported', feature: 'console' },
  })
})

test('the audit and the events say who opened a console, and no log has its ticket', async () => {
  const t = await testApp()
  const { open } = await consoles(t)
  const id = await make(t)
  await open(id)
  const [entry] = (await t.call('GET', '/account/audit')).body.items
  expect(entry).toMatchObject({ action: 'openConsole', object_type: 'server', object_id: id })
  const [event] = (await t.call('GET', '/events?order=desc')).body.items
  expect(event).toMatchObject({ type: 'server.console_opened', data: { server_id: id } })
  expect(JSON.stringify([entry, event])).not.toContain('ticket_')
})

test('the end of the service ends its consoles, also those of clients that do not answer', async () => {
  const t = await testApp()
  const { open } = await consoles(t)
  const id = await make(t)
  const [polite, deaf] = [await open(id), await open(id)]
  deaf.socket.pause()
  await t.app.consoles.stop()
  expect(await polite.ended).toBe('1001 service_stopping')
})
