import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { ed25519, line, pack } from '../harness/keys.ts'
import { issues, order } from '../harness/ordering.ts'

const numbered = (count: number) => Array.from({ length: count }, (_, at) => [`field${at}`, 1] as const)

test('up to 100 errors are listed, and the detail says that there are more', async () => {
  const t = await testApp()
  const send = async (count: number) =>
    (await t.call('POST', '/account/projects', Object.fromEntries([['name', 'x'], ...numbered(count)]))).body
  const all = await send(100)
  expect([all.errors.length, all.detail]).toEqual([100, '100 values are invalid: see errors.'])
  const first = await send(101)
  expect(first.status).toBe(422)
  expect([first.errors.length, first.detail]).toEqual([
    100,
    'More than 100 values are invalid: the first 100 are in errors.',
  ])
  expect(first.errors).toEqual(all.errors)
  // Those of the query come first, and count.
  const both = await t.call('POST', '/servers', await order(t.call, Object.fromEntries(numbered(500))))
  expect(issues(both.body)).toHaveLength(100)
})

test('a body has up to 1000 values, nested up to 32 levels deep', async () => {
  const t = await testApp()
  const send = (text: string) => t.call('POST', '/account/projects', text)
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const wide = (values: number) => JSON.stringify({ name: Array.from({ length: values }, () => 1) })
  const refused = { status: 413, body: { code: 'payload_too_large' } }
  expect((await send(deep(32))).status).toBe(422)
  expect(await send(deep(33))).toMatchObject(refused)
  expect((await send(wide(1000))).status).toBe(422)
  expect(await send(wide(1001))).toMatchObject(refused)
  for (const text of [deep(100_000), '['.repeat(200_000), `{"name":${'{"a":'.repeat(40_000)}1`])
    expect(await send(text)).toMatchObject(refused)
})

test('a body that nests without end is refused with an Idempotency-Key too', async () => {
  const t = await testApp()
  const text = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const reply = await t.call('POST', '/account/projects', text, { 'idempotency-key': 'deep' })
  expect(reply).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
})

test('braces inside strings do not count as values or levels', async () => {
  const t = await testApp()
  const user_data = '[{,"\\'.repeat(10_000)
  expect((await t.call('POST', '/servers', await order(t.call, { user_data }))).status).toBe(202)
})

test('a compressed body is refused with 415 and says what is taken instead', async () => {
  const t = await testApp()
  const send = (encoding: string, body: string | undefined = '{"name":"x"}') =>
    t.call('POST', '/account/projects', body, { 'content-encoding': encoding })
  for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'nonsense']) {
    const { status, body, headers } = await send(encoding)
    expect([encoding, status, body.code]).toEqual([encoding, 415, 'unsupported_media_type'])
    expect(body.detail).toContain('Content-Encoding')
    expect(headers['accept-encoding']).toBe('identity')
  }
  expect((await send('Identity')).status).toBe(201)
})

test('an unknown field is named by its first 100 characters', async () => {
  const t = await testApp()
  const name = 'description'.repeat(10_000)
  const { body } = await t.call('POST', '/account/projects', { name: 'x', [name]: 1 })
  const shown = `${name.slice(0, 99)}…`
  expect(body.errors).toEqual([
    {
      in: 'body',
      field: shown,
      pointer: `/${name.slice(0, 98)}…`,
      code: 'unknown_field',
      message: `${shown} is not a known field.`,
    },
  ])
})

test('a refusal stays short, whatever is wrong with the request', async () => {
  const t = await testApp()
  const send = async (path: string, body: object) => {
    const reply = await t.call('POST', path, body)
    expect(reply.status).toBe(422)
    expect(Buffer.byteLength(JSON.stringify(reply.body))).toBeLessThan(40_000)
    return reply.body
  }
  const names = (unit: string) =>
    Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${unit.repeat(400)}${at}`, 1]))
  expect((await send('/account/projects', names('x'))).errors.length).toBeLessThan(101)
  const { errors, detail } = await send('/account/projects', names('\u0001'))
  expect(detail).toBe(
    `More than ${errors.length} values are invalid: the first ${errors.length} are in errors.`,
  )
  await send('/servers', await order(t.call, { zone_slug: 'z'.repeat(200_000) }))
  await send('/servers', await order(t.call, { labels: { [`-${'x'.repeat(200_000)}`]: '' } }))
})

test('public keys that nobody can use are refused: of padding, and of more bits than OpenSSH takes', async () => {
  const t = await testApp()
  const add = async (public_key: string) =>
    (await t.call('POST', '/account/ssh_keys', { name: 'x', public_key })).body
  for (const base64 of ['='.repeat(16_000), `${'='.repeat(16_000)}x`, `${ed25519().split(' ')[1]}====`])
    expect(issues(await add(`ssh-ed25519 ${base64}`))).toEqual([['/public_key', 'invalid_public_key']])
  const huge = await add(line('ssh-rsa', pack('ssh-rsa', Buffer.from([3]), Buffer.alloc(4096, 0x7f))))
  expect([issues(huge), huge.detail]).toEqual([
    [['/public_key', 'invalid_public_key']],
    expect.stringContaining('16384'),
  ])
})

test('a label selector needs names, and may have any value but a comma after them', async () => {
  const t = await testApp()
  const ask = async (label: string) =>
    (await t.call('GET', `/servers?label=${encodeURIComponent(label)}`)).status
  for (const label of ['env', 'env=', 'env=a=b', 'env=\n', 'a'.repeat(63), 'env=a,b!=c,d,!e'])
    expect([label, await ask(label)]).toEqual([label, 200])
  for (const label of ['', '=', '=a', 'a'.repeat(64), `env=${'a'.repeat(4096)}`, 'env,,b'])
    expect([label, await ask(label)]).toEqual([label, 422])
})
