import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { service } from '../sdk/harness/client.ts'
import { listen } from '../sdk/harness/listener.ts'
import { berthOf, expectSession, loggedIn, type Run } from './harness/berth.ts'

const said = (out: string): Run => ({ code: 0, out, err: '' })
const refused = (code: number, err: string): Run => ({ code, out: '', err })

test('a login persists, and its token is in a file that nobody else may read', async () => {
  const t = await service()
  const { home, run } = berthOf(t)
  expect(await run('whoami')).toEqual(
    refused(
      5,
      'Error: You are not logged in.\nLog in with: berth login <url>, or set BERTH_URL and BERTH_TOKEN.\n',
    ),
  )
  expect(await run(`login ${t.baseUrl}`, `${t.token}\n`)).toEqual(
    said('Logged in as customer1@example.com.\n'),
  )
  const file = path.join(home, 'berth/contexts.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700)
  expect(readFileSync(file, 'utf8')).toContain(t.token)
  expect((await run('whoami')).out).toContain('customer1@example.com')
})

test('a file of tokens that others can read is not used', async () => {
  const t = await service()
  const { home, run } = berthOf(t)
  await run(`login ${t.baseUrl}`, t.token)
  const file = path.join(home, 'berth/contexts.json')
  chmodSync(file, 0o640)
  expect(await run('whoami')).toEqual(
    refused(
      5,
      `Error: ${file} contains tokens and is readable by other users.\n` +
        `Run: chmod 600 ${file} — and revoke its tokens if anyone may have seen them.\n`,
    ),
  )
})

test('sending the token unencrypted to another machine prints a warning', async () => {
  const t = await service()
  const { run } = berthOf(t)
  // The name leads to this machine, but is not one that always means the own machine.
  expect(await run(`login ${t.baseUrl.replace('127.0.0.1', '0.0.0.0')}`, t.token)).toEqual({
    ...said('Logged in as customer1@example.com.\n'),
    err: 'Warning: http:// is not encrypted; anyone on the network can read the token.\n',
  })
})

test('a failed login saves nothing', async () => {
  const t = await service()
  const { run } = berthOf(t)
  for (const wrong of ['berth_wrong', t.token.slice(0, -1)])
    expect(await run(`login ${t.baseUrl}`, wrong)).toEqual(
      refused(
        5,
        `Error: The token is truncated or mistyped, or is not a token of ${t.baseUrl}. (invalid_token)\n` +
          'Copy the whole token, or create a new one. Nothing was saved.\n',
      ),
    )
  expect((await run('login http://127.0.0.1:1', t.token)).err).toMatch(
    /\nCheck the address\. Nothing was saved\.\n$/,
  )
  expect(await run(`login ${t.baseUrl}`)).toEqual(
    refused(2, 'Error: No token given.\nPipe it to stdin, or enter it at the prompt.\n'),
  )
  expect(await run('login cloud.example', t.token)).toEqual(
    refused(
      2,
      'Error: "cloud.example" is not a valid address.\nAn address starts with http:// or https:// and includes a host.\n',
    ),
  )
  expect((await run('whoami')).err).toMatch(/^Error: You are not logged in/)
})

test('an invalid token is neither sent nor printed; an address that is not Berth is not saved', async () => {
  const t = await service()
  const { run } = berthOf(t)
  for (const token of ['a secret', 'one\nsecret', 'secret…']) {
    const { code, err } = await run(`login ${t.baseUrl}`, token)
    expect({ code, tells: err.includes('secret') }).toEqual({ code: 2, tells: false })
  }
  const other = await listen((_, reply) => reply.setHeader('content-type', 'application/json').end('{}'))
  expect(await run(`login ${other}`, t.token)).toEqual(
    refused(1, `Error: ${other} is not a Berth API.\nNothing was saved.\n`),
  )
  expect(await run(`login ${t.baseUrl} --as ''`, t.token)).toMatchObject({ code: 2 })
  expect((await run('context list --no-header -o name')).out).toBe('')
})

const configs = [
  'null',
  '[]',
  '{}',
  '5',
  '{',
  '{"current":5,"contexts":{}}',
  '{"contexts":{"a":{"url":"x"}}}',
]

test.each(configs)('a file without valid contexts is reported: %s', async (content) => {
  const { home, run } = berthOf(await service())
  mkdirSync(path.join(home, 'berth'))
  const file = path.join(home, 'berth/contexts.json')
  writeFileSync(file, content, { mode: 0o600 })
  for (const command of ['whoami', 'context list', 'logout'])
    expect(await run(command)).toEqual(
      refused(1, `Error: ${file} can't be read.\nFix it, or delete it and log in again: berth login\n`),
    )
})

test('a linked file stays in its place, and a file that cannot be written is reported', async () => {
  const t = await service()
  const { home, env, run } = berthOf(t)
  await run(`login ${t.baseUrl}`, t.token)
  const [file, kept] = [path.join(home, 'berth/contexts.json'), path.join(home, 'kept.json')]
  renameSync(file, kept)
  symlinkSync(kept, file)
  expect(await run(`login ${t.baseUrl} --as other`, t.token)).toMatchObject({ code: 0 })
  expect(lstatSync(file).isSymbolicLink()).toBe(true)
  expect(readFileSync(kept, 'utf8')).toContain('"other"')
  expect(statSync(kept).mode & 0o777).toBe(0o600)
  env.XDG_CONFIG_HOME = '/dev/null/no'
  const { code, err } = await run(`login ${t.baseUrl}`, t.token)
  expect({ code, lines: err.split('\n').length }).toEqual({ code: 1, lines: 3 })
})

test('a user can be logged in to several services, and choose one', async () => {
  const t = await service()
  const cli = berthOf(t)
  const other = await t.makeToken(['account:read'], { accountId: await t.makeAccount() })
  await cli.run(`login ${t.baseUrl}`, t.token)
  expect((await cli.run(`login ${t.baseUrl} --as other`, other)).out).toMatch(
    /^Logged in as \S+ \(context other, now current\)\.\n$/,
  )
  await expectSession(cli, 'context', [
    'context list',
    'whoami',
    'whoami --context default',
    'context use default',
    'whoami -o name',
    'whoami --context none',
    'context list -o json',
    'context list other',
    'context use none',
    'logout',
    'whoami',
    'logout',
    'logout other',
    'context list',
  ])
})

test('address and token can come from flags and from the environment; a token is sent only to its own address', async () => {
  const t = await loggedIn()
  const whoami = async (args = '') => (await t.run(`whoami -o name ${args}`)).out.trim()
  expect(await whoami()).toBe('Customer 1')
  const other = await t.makeToken(['account:read'], { accountId: await t.makeAccount() })
  expect(await whoami(`--token ${other}`)).toBe('Customer 2')
  expect(await whoami(`--url ${t.baseUrl.replace(/\/v1$/, '/')}`)).toBe('Customer 1')
  const elsewhere =
    'Error: No token given for this address.\nPass its token too, or log in to it: berth login <url>\n'
  expect((await t.run('whoami --url http://other.example')).err).toBe(elsewhere)
  t.env.BERTH_TOKEN = undefined
  await t.run(`login ${t.baseUrl}`, t.token)
  expect((await t.run('whoami --url http://other.example')).err).toBe(elsewhere)
  t.env.BERTH_URL = undefined
  expect(await whoami()).toBe('Customer 1')
  expect(await whoami(`--url ${t.baseUrl} --token ${other}`)).toBe('Customer 2')
})
