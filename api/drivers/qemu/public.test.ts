import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { microImage } from './images/test-image.ts'
import { type Namespaces, openNamespaces } from './network/test-namespaces.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
const A = { ipv4: '203.0.113.7', ipv6: '2001:db8:5:7::/64' }
const NONE = { ipv4: null, ipv6: null }

let spaces: Namespaces
let host: ChildProcess
let lines: AsyncIterator<string>
let keys: Record<'one' | 'two', string>

/** The host's next reply. */
async function answer(): Promise<string> {
  const { value, done } = await lines.next()
  if (done) throw new Error('The host has ended')
  return value
}

/** Gives guests their addresses. */
async function connect(networks: object): Promise<void> {
  host.stdin?.write(`${JSON.stringify(networks)}\n`)
  await answer()
}

/** Returns the key that answers on SSH within some seconds, as seen from the internet; '' for none. */
async function keyWithin(seconds: number, address: string): Promise<string> {
  const scan = ['netns', 'exec', spaces.net, 'ssh-keyscan', '-t', 'ed25519', '-T', String(seconds), address]
  const { stdout } = await run('ip', scan, { timeout: 150_000 })
  return stdout.trim().split(' ').at(-1) ?? ''
}
/** The key at an address that should answer; an emulated guest may need a while. */
const keyAt = (address: string) => keyWithin(60, address)
const noKeyAt = (address: string) => keyWithin(6, address).catch(() => '')

beforeAll(async () => {
  if (!isRoot) return
  // The test's namespace can't download the image's parts.
  await microImage()
  spaces = await openNamespaces()
  const program = join(import.meta.dirname, 'test-public.ts')
  host = spawn('ip', ['netns', 'exec', spaces.host, process.execPath, program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  if (!host.stdout) throw new Error('no output')
  lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]()
  keys = JSON.parse(await answer())
})

afterAll(async () => {
  if (!isRoot) return
  const ended = new Promise((resolve) => host.once('exit', resolve))
  host.stdin?.end()
  await ended
  await spaces.close()
})

test.runIf(isRoot)(
  'a real guest answers at its public addresses of both families, which move to another without a reboot',
  async () => {
    await connect({ one: { public: A } })
    expect(await keyAt(A.ipv4)).toBe(keys.one)
    expect(await keyAt('2001:db8:5:7::2')).toBe(keys.one)
    await connect({ one: { public: NONE }, two: { public: A } })
    expect(await keyAt(A.ipv4)).toBe(keys.two)
    expect(await keyAt('2001:db8:5:7::2')).toBe(keys.two)
    await connect({ two: { public: NONE } })
    expect(await noKeyAt(A.ipv4)).toBe('')
  },
)

test.runIf(isRoot)(
  "a real guest's firewall holds at its public addresses of both families, and stays with it when they move",
  async () => {
    const keysAre = async (...expected: [string, string]) => {
      const look = (address: string, at: 0 | 1) => (expected[at] === '' ? noKeyAt : keyAt)(address)
      expect(await Promise.all([look(A.ipv4, 0), look('2001:db8:5:7::2', 1)])).toEqual(expected)
    }
    const ssh = (...cidrs: string[]) => {
      const ports = { first: 22, last: 22 }
      return [{ direction: 'in', protocol: 'tcp', ports, cidrs }]
    }
    await connect({ one: { public: A, firewall: [] } })
    await keysAre('', '')
    await connect({ one: { public: A, firewall: ssh('198.51.100.0/24') } })
    await keysAre(keys.one, '')
    await connect({ one: { public: A, firewall: ssh('192.0.2.1/32', '2001:db8:ffff::1/128') } })
    await keysAre('', keys.one)
    // The second guest has no firewall; the first is as closed as before.
    await connect({ one: { public: NONE, firewall: [] }, two: { public: A } })
    await keysAre(keys.two, keys.two)
    await connect({ one: { public: A, firewall: [] }, two: { public: NONE } })
    await keysAre('', '')
  },
)
