import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { ServerDetails } from '../../sdk/index.ts'
import { expectSession, loggedIn } from './harness/berth.ts'
import { liar } from './harness/liar.ts'

/** Logs in, with a program in place of ssh that records its arguments and exits with 7; test/qemu uses real ssh. */
async function withSsh(options?: Parameters<typeof loggedIn>[0]) {
  const t = await loggedIn(options)
  const folder = path.join(t.home, 'bin')
  mkdirSync(folder)
  const kept = path.join(t.home, 'called with')
  writeFileSync(path.join(folder, 'ssh'), `#!/bin/sh\nprintf '%s\\n' "$@" > '${kept}'\nexit 7\n`, {
    mode: 0o755,
  })
  t.env.PATH = `${folder}:/usr/bin:/bin`
  return { ...t, calledWith: () => readFileSync(kept, 'utf8').trimEnd().split('\n') }
}

test('ssh connects only to the server, trusts only its host keys, and its exit code is passed on', async () => {
  const t = await withSsh({ sshPorts: { first: 22741, last: 22741 } })
  const { server_id } = await t.make('web-1')
  expect(await t.run("server ssh web-1 -i key -- ls -l 'a b'")).toEqual({ code: 7, out: '', err: '' })
  const known = path.join(t.home, 'berth/known_hosts', server_id)
  const options = [
    `UserKnownHostsFile="${known}"`,
    'GlobalKnownHostsFile=/dev/null',
    'StrictHostKeyChecking=yes',
    `HostKeyAlias=${server_id}`,
    'CheckHostIP=no',
    'NoHostAuthenticationForLocalhost=no',
    'VerifyHostKeyDNS=no',
    'UpdateHostKeys=no',
    'ControlPath=none',
  ]
  expect(t.calledWith()).toEqual([
    ...options.flatMap((option) => ['-o', option]),
    ...['-i', 'key', '-o', 'IdentitiesOnly=yes'],
    ...['-p', '22741', '-l', 'berth', '--', '127.0.0.1', 'ls', '-l', 'a b'],
  ])
  const [key] = (await t.berth.servers.details(server_id)).ssh.host_key_fingerprints
  expect(readFileSync(known, 'utf8')).toBe(`${server_id} ssh-ed25519 ${key?.public_key}\n`)

  await t.run('server ssh web-1 --user root')
  expect(t.calledWith().slice(-6)).toEqual(['-p', '22741', '-l', 'root', '--', '127.0.0.1'])
})

test('ssh waits for a server that is still being created', async () => {
  const t = await withSsh({ simulator: { bootMs: 5000 } })
  const { server_id } = await t.berth.servers.create({ ...(await t.order()), name: 'web-1' })
  expect((await t.berth.servers.details(server_id)).ssh.is_ready).toBe(false)
  expect(await t.run('server ssh web-1')).toMatchObject({ code: 7, err: '' })
  expect(t.calledWith()).toContain('127.0.0.1')
})

test('a server that can’t be logged in to is refused with the reason', async () => {
  const t = await loggedIn()
  const [off, broken] = [await t.make('off'), await t.make('broken')]
  await t.run('server stop off --wait')
  t.env.PATH = t.home
  await expectSession(t, 'ssh-refused', ['server ssh off', 'server ssh broken', 'server ssh none'])
  t.env.BERTH_URL = await liar(t.baseUrl, ({ ssh }) => {
    ssh.host_key_fingerprints = []
  })
  await expectSession(t, 'ssh-no-host-key', [`server ssh ${broken.server_id}`, `server ssh ${off.server_id}`])
})

const lies: Record<string, (details: ServerDetails) => void> = {
  'a host that is an option': ({ ssh }) => {
    ssh.host = '-oProxyCommand=id'
  },
  'a host with a command in it': ({ ssh }) => {
    ssh.host = '127.0.0.1;id'
  },
  'a host with an interface that is a token of ssh': ({ ssh }) => {
    ssh.host = 'fe80::1%h'
  },
  'a user that is an option': ({ ssh }) => {
    ssh.username = '-oProxyCommand=id'
  },
  'a user with a host of its own': ({ ssh }) => {
    ssh.username = 'root@elsewhere'
  },
  'a port that is none': ({ ssh }) => {
    ssh.port = 70_000
  },
  'a host key with a line of its own': ({ ssh }) => {
    for (const key of ssh.host_key_fingerprints) key.public_key += '\n* ssh-ed25519 AAAA'
  },
  'a type of key that trusts an authority': ({ ssh }) => {
    for (const key of ssh.host_key_fingerprints) key.type = '@cert-authority * ssh-ed25519'
  },
  'an id that leads to another folder': (details) => {
    details.server_id = '../../.ssh/authorized_keys'
  },
}

test.each(Object.entries(lies))('an API that lies about %s makes nothing run', async (_, lie) => {
  const t = await withSsh()
  await t.make('web-1')
  t.env.BERTH_URL = await liar(t.baseUrl, lie)
  const { code, err } = await t.run('server ssh web-1')
  expect(err).toMatch(/^Error: The API returned an invalid .* for the server: .*\.\nNo connection was made\./)
  expect(code).toBe(1)
  expect(t.calledWith).toThrow('ENOENT')
})
