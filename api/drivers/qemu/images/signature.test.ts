import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../clock.ts'
import type { Checksums } from '../../images.ts'
import { fetchSource } from './source.ts'
import { ImageServer } from './test-server.ts'

/** A signer with a key of GnuPG. */
interface Signer {
  home: string
  fingerprint: string
  publicKey: string
}

const LIMITS = { stallMs: 5_000, attempts: 1, backoffMs: 1, maxBytes: 1 << 20 }
let dir: string
let vendor: Signer
let stranger: Signer
let server: ImageServer

const gpg = ({ home }: Pick<Signer, 'home'>, args: string[], input = '') =>
  execFileSync('gpg', ['--homedir', home, '--batch', '--yes', '--quiet', '--passphrase', '', ...args], {
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  })

function newSigner(): Signer {
  const home = mkdtempSync(path.join(dir, 'gpg-'))
  gpg({ home }, ['--quick-gen-key', 'Vendor <vendor@example.com>', 'ed25519', 'sign', 'never'])
  const [, fingerprint = ''] = /^fpr:+([0-9A-F]{40}):/m.exec(gpg({ home }, ['--with-colons', '-k'])) ?? []
  return { home, fingerprint, publicKey: gpg({ home }, ['--armor', '--export']) }
}

beforeAll(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'berth-sign-'))
  ;[vendor, stranger] = [newSigner(), newSigner()]
})

afterAll(() => {
  for (const { home } of [vendor, stranger]) spawnSync('gpgconf', ['--homedir', home, '--kill', 'gpg-agent'])
  rmSync(dir, { recursive: true, force: true })
})

beforeEach(async () => {
  server = new ImageServer(Buffer.from('the image of the vendor'.repeat(1000)))
  await server.listen()
})

afterEach(() => server.close())

const sha512 = (bytes: Buffer) => createHash('sha512').update(bytes).digest('hex')
const list = (bytes = server.body) => `${sha512(bytes)}  disk.img\n`
const detached = (signer: Signer, text: string, more: string[] = []) =>
  gpg(signer, [...more, '--armor', '--detach-sign'], text)

/** Publishes a list, its signature and a key. */
function publish({ sums = list(), signature = detached(vendor, sums), key = vendor.publicKey } = {}): void {
  server.texts.set('/SUMS', sums)
  server.texts.set('/SUMS.sign', signature)
  server.texts.set('/key', key)
}

async function fetched(change: Checksums = {}): Promise<Buffer> {
  const checksums = {
    checksums_url: server.url('SUMS'),
    signature_url: server.url('SUMS.sign'),
    key_url: server.url('key'),
    fingerprint: vendor.fingerprint,
    ...change,
  }
  const { disk } = await fetchSource({ type: 'url', url: server.url(), ...checksums }, work())
  return readFileSync(disk)
}

const work = () => ({
  slug: 'test-os',
  dir: mkdtempSync(path.join(dir, 'work-')),
  out: dir,
  place: { baseDir: dir, scripts: dir },
  clock: systemClock,
  signal: new AbortController().signal,
  limits: LIMITS,
  report: () => {},
})

const NOT_SIGNED = /not signed by the key [0-9A-F]{40} of its vendor/

test('an image is accepted if the vendor signed its checksum, in a separate file or in the list itself', async () => {
  publish()
  expect(await fetched()).toEqual(server.body)
  server.texts.set('/SUMS', gpg(vendor, ['--clearsign'], list()))
  const { signature_url: _, ...inline } = { signature_url: '', checksums_url: server.url('SUMS') }
  const source = { type: 'url', url: server.url(), ...inline } as const
  const keyed = { ...source, key_url: server.url('key'), fingerprint: vendor.fingerprint }
  expect(readFileSync((await fetchSource(keyed, work())).disk)).toEqual(server.body)
  // Text around the signed part is not the vendor's.
  const other = sha512(Buffer.from('x'))
  server.texts.set('/SUMS', `${list()}${gpg(vendor, ['--clearsign'], `${other}  other.img\n`)}${list()}`)
  await expect(fetchSource(keyed, work())).rejects.toThrow('does not contain disk.img')
})

test('a signature by anyone else is refused before anything is downloaded', async () => {
  for (const published of [
    { signature: detached(stranger, list()) },
    // An attacker who can change the list can serve a key of their own too.
    { signature: detached(stranger, list()), key: stranger.publicKey },
    { signature: detached(stranger, list()), key: `${vendor.publicKey}${stranger.publicKey}` },
    { signature: '' },
    { signature: 'no signature' },
    { key: '' },
    { signature: detached(vendor, list(), ['--digest-algo', 'SHA1']) },
  ]) {
    publish(published)
    await expect(fetched()).rejects.toThrow(NOT_SIGNED)
  }
  expect(server.ranges).toEqual([])
})

test('a list that was changed after it was signed is refused', async () => {
  const evil = Buffer.from('evil')
  publish({ signature: detached(vendor, list()), sums: list(evil) })
  await expect(fetched()).rejects.toThrow(NOT_SIGNED)
  publish({ signature: detached(vendor, list()), sums: `${list(evil)}${list()}` })
  await expect(fetched()).rejects.toThrow(NOT_SIGNED)
  expect(server.ranges).toEqual([])
})

test('a file that does not match the signed list is refused, whether swapped or truncated', async () => {
  publish()
  const whole = server.body
  server.body = Buffer.from('another image'.repeat(1000))
  await expect(fetched()).rejects.toThrow('does not match its sha512')
  server.body = whole.subarray(0, whole.length - 1)
  await expect(fetched()).rejects.toThrow('does not match its sha512')
})

test('nothing is downloaded by plain HTTP from another machine, not even after a redirect', async () => {
  publish()
  const plain = { url: 'http://192.0.2.1/disk.img', sha512: 'a'.repeat(128) }
  await expect(fetchSource({ type: 'url', ...plain }, work())).rejects.toThrow(
    /Downloads from http:\/\/ are not allowed.*Use https/,
  )
  const redirector = createServer((_, reply) =>
    reply.writeHead(302, { location: 'http://192.0.2.1/SUMS' }).end(),
  )
  await new Promise<void>((resolve) => redirector.listen(0, '127.0.0.1', resolve))
  // It listens on TCP, so the address is not a path.
  const { port } = redirector.address() as AddressInfo
  await expect(fetched({ checksums_url: `http://127.0.0.1:${port}/SUMS` })).rejects.toThrow(
    'redirected to an unencrypted address',
  )
  redirector.close()
})

test('builds leave the signatures of packages to apt, which checks them', () => {
  const folder = import.meta.dirname
  for (const script of ['packages.sh', 'disk.sh', 'debian/build.sh', 'micro/build.sh'])
    expect(readFileSync(path.join(folder, script), 'utf8')).not.toMatch(
      /allow-unauthenticated|AllowUnauthenticated|trusted=yes|AllowInsecure|AllowWeak|AllowDowngrade|no-check-gpg|no-check-valid/i,
    )
})
