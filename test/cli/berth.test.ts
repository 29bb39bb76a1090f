import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { service } from '../sdk/client.ts'
import { berthOf, type Run } from './berth.ts'

const said = (out: string): Run => ({ code: 0, out, err: '' })
const refused = (err: string): Run => ({ code: 1, out: '', err })

test('who logs in is known from then on; the token is in a file that nobody else may read', async () => {
  const t = await service()
  const { home, berth } = berthOf(t)
  expect(await berth('whoami')).toEqual(
    refused('You are not logged in. Log in with: berth login <url>, or set BERTH_URL and BERTH_TOKEN.\n'),
  )
  expect(await berth(`login ${t.baseUrl}`, `${t.token}\n`)).toEqual(
    said('You are logged in as customer1@example.com.\n'),
  )
  const file = path.join(home, 'berth/contexts.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700)
  expect(readFileSync(file, 'utf8')).toContain(t.token)
  expect((await berth('whoami')).out).toMatch(/^Account: {2}customer1@example\.com\nStatus: {3}active\n/)
  expect(await berth('balance')).toEqual(
    said('Balance:       10000.00 RUB\nCost a month:  0.00\nHours left:    -\n'),
  )
})

test('a login that fails keeps nothing', async () => {
  const t = await service()
  const { berth } = berthOf(t)
  const wrong = await berth(`login ${t.baseUrl}`, 'berth_wrong')
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('(invalid_token)') })
  expect(await berth(`login ${t.baseUrl}`)).toEqual(refused('No token was given.\n'))
  expect(await berth('login cloud.example', t.token)).toEqual(
    refused('"cloud.example" is no address: it begins with http:// or https://.\n'),
  )
  expect((await berth('whoami')).err).toMatch(/^You are not logged in/)
})

test('one can be logged in to several places, and choose', async () => {
  const t = await service()
  const { berth } = berthOf(t)
  const other = await t.makeToken(['account:read'], { accountId: await t.makeAccount() })
  await berth(`login ${t.baseUrl}`, t.token)
  await berth(`login ${t.baseUrl} --as other`, other)
  expect((await berth('context list')).out).toBe(
    `   NAME     URL\n   default  ${t.baseUrl}\n*  other    ${t.baseUrl}\n`,
  )
  expect((await berth('whoami')).out).toContain('customer2@example.com')
  expect((await berth('whoami --context default')).out).toContain('customer1@example.com')
  expect(await berth('context use default')).toEqual(said(''))
  expect((await berth('whoami')).out).toContain('customer1@example.com')
  expect((await berth('whoami --context none')).err).toBe(
    'There is no context none. berth context list shows those that are.\n',
  )
})

test('a server is created, listed, shown, stopped, started and deleted by its name', async () => {
  const t = await service({ sshPorts: { first: 22741, last: 22741 } })
  const { berth } = berthOf(t)
  await berth(`login ${t.baseUrl}`, t.token)
  const created = await berth('server create web-1 --template micro --preset nano')
  expect(created).toMatchObject({ code: 0, err: '' })
  expect(created.out).toMatch(
    /^Id: {13}[0-9a-f-]{36}\nName: {11}web-1\nStatus: {9}running\nSize: {11}1 CPU, 512 MB of memory, 10 GB of disk\n/,
  )
  expect(created.out).toContain('\nLog in:         ssh -p 22741 berth@127.0.0.1\n')
  expect((await berth('server show web-1')).out).toBe(created.out)
  const listed = await berth('server list')
  expect(listed.out.split('\n')[0]).toMatch(
    /^ID +NAME {3}STATUS {3}ZONE {5}CPU {2}RAM MB {2}DISK GB {2}MONTH$/,
  )
  expect(listed.out).toMatch(
    /\n[0-9a-f-]{36} {2}web-1 {2}running {2}local-1 {2}1 {4}512 {5}10 {7}\d+\.\d\d\n$/,
  )
  const done = (type: string) => said(`Server:     web-1\nOperation:  ${type}\nStatus:     succeeded\n`)
  expect(await berth('server stop web-1')).toEqual(done('stop'))
  expect((await berth('server stop web-1')).err).toContain('(server_state_conflict)')
  expect(await berth('server start web-1')).toEqual(done('start'))
  expect(await berth('server delete web-1 --no-wait')).toMatchObject({ code: 0 })
  expect(await berth('server show web-1')).toEqual(
    refused('There is no server web-1. berth server list shows those that are.\n'),
  )
})

test('with -o json a command prints what the API replied, before or after its name', async () => {
  const t = await service()
  const { berth } = berthOf(t)
  await berth(`login ${t.baseUrl}`, t.token)
  const server = await t.make('web-1')
  expect(JSON.parse((await berth('server list -o json')).out)).toEqual([server])
  expect(JSON.parse((await berth('-o json server show web-1')).out)).toMatchObject({
    ssh: { is_ready: true },
  })
})

test('a slug, name or size that is none is told with those that are', async () => {
  const t = await service()
  const { berth } = berthOf(t)
  await berth(`login ${t.baseUrl}`, t.token)
  expect((await berth('server create --template dos --preset nano')).err).toBe(
    'There is no template dos. There is: micro, debian-12, debian-13, ubuntu-24.04, alma-9.\n',
  )
  const several = await berth('server create --template micro --cpu 1')
  expect(several).toMatchObject({ code: 1, err: expect.stringMatching(/ram_mb: .+\n {2}disk_gb: /) })
  expect(await berth('server list --sort name')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--sort'),
  })
  await t.make('twin')
  await t.make('twin')
  expect((await berth('server stop twin')).err).toBe('2 servers are named twin: say which by its id.\n')
})
