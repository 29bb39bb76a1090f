import { execFileSync, spawn } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type NameServer, openNameServer } from '../../api/addresses/name-servers.ts'
import { reverseName } from '../../api/cidrs.ts'
import { systemClock } from '../../api/clock.ts'
import { readConfig } from '../../api/config.ts'
import { claimPort } from '../harness/ports.ts'

const SECRET = Buffer.from('a secret of thirty-two octets ..').toString('base64')
const ZONES = ['113.0.203.in-addr.arpa', '8.b.d.0.1.0.0.2.ip6.arpa']

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'berth-dns-'))
  chmodSync(made, 0o755)
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

/** Runs a name server until the test ends. */
function run(program: string, args: string[]): void {
  const child = spawn(program, args, { stdio: 'ignore' })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null) await once(child, 'exit')
  })
}

async function powerDns() {
  const place = folder()
  const [dns, api] = [await claimPort(), await claimPort()]
  const settings = [
    ...['launch=gsqlite3', `gsqlite3-database=${place}/pdns.db`, `socket-dir=${place}`],
    ...['local-address=127.0.0.1', `local-port=${dns}`, 'webserver=yes', 'webserver-address=127.0.0.1'],
    ...[`webserver-port=${api}`, 'api=yes', 'api-key=sesame', 'cache-ttl=0', 'query-cache-ttl=0'],
    'negquery-cache-ttl=0',
  ]
  writeFileSync(`${place}/pdns.conf`, settings.join('\n'))
  const schema = '/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql'
  const { DatabaseSync } = await import('node:sqlite')
  const db = new DatabaseSync(`${place}/pdns.db`)
  db.exec(execFileSync('cat', [schema], { encoding: 'utf8' }))
  db.close()
  for (const zone of ZONES) execFileSync('pdnsutil', [`--config-dir=${place}`, 'create-zone', zone])
  run('pdns_server', [`--config-dir=${place}`, '--guardian=no', '--daemon=no'])
  return { dns, setting: `pdns+http://sesame@127.0.0.1:${api}` }
}

async function bind() {
  const place = folder()
  const dns = await claimPort()
  const key = `key "berth" { algorithm hmac-sha256; secret "${SECRET}"; };`
  const zones = ZONES.map((zone) => {
    writeFileSync(`${place}/${zone}`, '$TTL 60\n@ SOA ns. host. 1 60 60 60 0\n@ NS ns.\n')
    return `zone "${zone}" { type primary; file "${place}/${zone}"; allow-update { key "berth"; }; };`
  })
  const options = `options { directory "${place}"; listen-on port ${dns} { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none; session-keyfile none; recursion no; };`
  writeFileSync(`${place}/named.conf`, [options, 'controls { };', key, ...zones].join('\n'))
  run('named', ['-f', '-c', `${place}/named.conf`])
  return { dns, setting: `rfc2136://berth:${SECRET}@127.0.0.1:${dns}` }
}

function opened(setting: string): NameServer {
  const { rdns } = readConfig({ BERTH_RDNS: setting })
  if (!rdns) throw new Error('the setting names no name server')
  return openNameServer(rdns, systemClock)
}

const servers = { PowerDNS: powerDns, 'bind by RFC 2136': bind }

test.each(Object.entries(servers))(
  '%s answers with the names that it is given, until they are deleted',
  async (_, start) => {
    const { dns, setting } = await start()
    const server = opened(setting)
    const resolver = new Resolver({ timeout: 2000, tries: 1 })
    resolver.setServers([`127.0.0.1:${dns}`])
    const nameOf = (address: string) => resolver.reverse(address).catch(({ code }: { code: string }) => code)
    const set = (address: string, target: string | null) => server.set(reverseName(address), target)
    // The name server takes a moment to listen.
    await expect.poll(() => set('203.0.113.7', 'first.example.com').then(() => 'set', String)).toBe('set')
    expect(await nameOf('203.0.113.7')).toEqual(['first.example.com'])
    await set('203.0.113.7', 'mail.example.com')
    await set('2001:db8:7:1::2', 'six.example.com')
    expect(await nameOf('203.0.113.7')).toEqual(['mail.example.com'])
    expect(await nameOf('2001:db8:7:1::2')).toEqual(['six.example.com'])
    for (let times = 0; times < 2; times++) await set('203.0.113.7', null)
    expect(await nameOf('203.0.113.7')).toBe('ENOTFOUND')
    await expect(set('198.51.100.1', 'mail.example.com')).rejects.toThrow(/no zone for|refuses/)
    // nsupdate itself refuses the name, without a request to the name server.
    const bad = await set('203.0.113.7', '-a.example.com').then(() => 'set', String)
    expect(bad).not.toMatch(/can't be reached/)
  },
)

test('errors about a wrong key or an unreachable name server do not contain the key', async () => {
  const { setting } = await bind()
  const wrong = opened(setting.replace(SECRET, SECRET.toLowerCase()))
  const refusal = () => wrong.set(reverseName('203.0.113.7'), null).then(() => 'set', String)
  await expect.poll(refusal).toMatch(/NOTAUTH|BADSIG/)
  const port = await claimPort()
  const down = opened(`rfc2136://berth:${SECRET}@127.0.0.1:${port}`)
  const silence = await down.set(reverseName('203.0.113.7'), null).then(() => 'set', String)
  expect(silence).toMatch(/can't be reached/)
  expect(silence + (await refusal())).not.toContain(SECRET)
})
