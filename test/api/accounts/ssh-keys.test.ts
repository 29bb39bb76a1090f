import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { ecdsa, ed25519, privateKey, rsa, securityKey } from '../harness/keys.ts'
import { issues, make, NOBODY } from '../harness/ordering.ts'

test('keys of every kind are taken, with the fingerprint that ssh-keygen prints', async () => {
  const t = await testApp()
  const keys = [
    ed25519('ann@laptop'),
    ecdsa(256),
    ecdsa(384),
    ecdsa(521),
    rsa(2048),
    securityKey('ed25519'),
    securityKey('ecdsa'),
  ]
  for (const public_key of keys) {
    const [key_type = '', base64 = ''] = public_key.split(' ')
    const digest = createHash('sha256')
      .update(Buffer.from(base64, 'base64'))
      .digest('base64')
      .replace(/=+$/, '')
    const reply = await t.call('POST', '/account/ssh_keys', { name: key_type, public_key })
    expect(reply).toMatchObject({
      status: 201,
      body: {
        name: key_type,
        public_key,
        key_type,
        fingerprint: `SHA256:${digest}`,
        created_at: '2026-11-20T12:00:00.000Z',
      },
    })
    expect(reply.headers.location).toBe(`/v1/account/ssh_keys/${reply.body.ssh_key_id}`)
    expect((await t.call('GET', `/account/ssh_keys/${reply.body.ssh_key_id}`)).body).toEqual(reply.body)
  }
  const list = (await t.call('GET', '/account/ssh_keys')).body
  expect([list.total, list.items.length, list.items[0].key_type]).toEqual([
    7,
    7,
    'sk-ecdsa-sha2-nistp256@openssh.com',
  ])
  expect((await t.call('GET', '/account/me')).body.quotas.ssh_keys).toEqual({ limit: 100, used: 7 })
})

test('anything but a single public key is refused with a reason', async () => {
  const t = await testApp()
  const key = ed25519()
  const wrong: [public_key: string, said: RegExp][] = [
    [privateKey(), /private key/],
    [`from="10.0.0.1" ${key}`, /options/],
    [`${key}\n${ed25519()}`, /single line/],
    ['garbage', /starts with its type/],
    ['   ', /starts with its type/],
    [`ssh-ed25519 ${'A'.repeat(68)}`, /malformed/],
    [rsa(1024), /2048/],
    ['ssh-dss AAAAB3NzaC1kc3M=', /DSA/],
  ]
  for (const [public_key, said] of wrong) {
    const reply = await t.call('POST', '/account/ssh_keys', { name: 'x', public_key })
    expect([reply.status, issues(reply.body)]).toEqual([422, [['/public_key', 'invalid_public_key']]])
    expect(reply.body.errors[0].message).toMatch(said)
    expect(JSON.stringify(reply.body)).not.toContain('BEGIN')
  }
  expect(issues((await t.call('POST', '/account/ssh_keys', { name: 'x', public_key: '' })).body)).toEqual([
    ['/public_key', 'too_short'],
  ])
  expect(
    issues((await t.call('POST', '/account/ssh_keys', { name: 'x', public_key: 'A'.repeat(16_385) })).body),
  ).toEqual([['/public_key', 'too_long']])
  expect(issues((await t.call('POST', '/account/ssh_keys', {})).body).sort()).toEqual([
    ['/name', 'required'],
    ['/public_key', 'required'],
  ])
  expect((await t.call('GET', '/account/ssh_keys')).body.total).toBe(0)
})

test('a key that the account has already is a conflict that names it, however it is written', async () => {
  const t = await testApp()
  const public_key = ed25519('ann@laptop')
  const first = await t.call('POST', '/account/ssh_keys', { name: 'laptop', public_key })
  const again = `  ${public_key.split(' ').slice(0, 2).join(' ')} another comment\n`
  expect(await t.call('POST', '/account/ssh_keys', { name: 'work', public_key: again })).toMatchObject({
    status: 409,
    body: { code: 'ssh_key_exists', ssh_key_id: first.body.ssh_key_id },
  })
  // Many at once make one, and all others are told which.
  const other = ed25519()
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => t.call('POST', '/account/ssh_keys', { name: 'x', public_key: other })),
  )
  expect(replies.map((reply) => reply.status).sort()).toEqual([201, ...Array(7).fill(409)])
  expect(new Set(replies.map((reply) => reply.body.ssh_key_id)).size).toBe(1)
  // Another account may have the same key, and is not told of this one.
  const neighbour = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() }))
  expect((await neighbour('POST', '/account/ssh_keys', { name: 'x', public_key })).status).toBe(201)
  expect((await neighbour('GET', `/account/ssh_keys/${first.body.ssh_key_id}`)).body.code).toBe(
    'ssh_key_not_found',
  )
  expect((await neighbour('DELETE', `/account/ssh_keys/${first.body.ssh_key_id}`)).body.code).toBe(
    'ssh_key_not_found',
  )
})

test('deleting a key does not affect servers created with it', async () => {
  const t = await testApp()
  const { body: key } = await t.call('POST', '/account/ssh_keys', { name: 'laptop', public_key: ed25519() })
  const id = await make(t, { ssh_key_ids: [key.ssh_key_id] })
  expect((await t.call('DELETE', `/account/ssh_keys/${key.ssh_key_id}`)).status).toBe(204)
  expect((await t.call('GET', `/account/ssh_keys/${key.ssh_key_id}`)).body.code).toBe('ssh_key_not_found')
  expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
    status: 'running',
    ssh_key_ids: [key.ssh_key_id],
  })
  const { ssh } = (await t.call('GET', `/servers/${id}/details`)).body
  expect(ssh).toMatchObject({
    auth_methods: ['public_key'],
    password: null,
    keys: [{ ssh_key_id: key.ssh_key_id, name: 'laptop', fingerprint: key.fingerprint }],
  })
  expect((await t.call('DELETE', `/account/ssh_keys/${NOBODY}`)).body.code).toBe('ssh_key_not_found')
})

test('a quota of keys is a limit', async () => {
  const t = await testApp()
  await t.db.updateTable('accounts').set({ quotas: '{"ssh_keys":2}' }).execute()
  const replies = await Promise.all(
    Array.from({ length: 6 }, () =>
      t.call('POST', '/account/ssh_keys', { name: 'x', public_key: ed25519() }),
    ),
  )
  expect(replies.map((reply) => reply.status).sort()).toEqual([201, 201, 403, 403, 403, 403])
  expect(replies.find((reply) => reply.status === 403)?.body.quota).toEqual({
    name: 'ssh_keys',
    limit: 2,
    used: 2,
    requested: 1,
  })
})
