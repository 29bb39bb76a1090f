import { execFileSync } from 'node:child_process'
import { getDiffieHellman, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ssh2 from 'ssh2'
import { afterAll, afterEach, expect, onTestFinished, test } from 'vitest'
import { SshProbe } from './probe.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-'))
afterAll(() => rmSync(folder, { recursive: true }))

let server: Server | undefined
const open = new Set<Socket>()
afterEach(async () => {
  for (const socket of open) socket.destroy()
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)))
  server = undefined
})

async function serve(greet: (socket: Socket) => void): Promise<number> {
  server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    greet(socket)
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  return portIn(server.address())
}

function portIn(address: unknown): number {
  if (typeof address === 'object' && address !== null && 'port' in address) return Number(address.port)
  throw new Error('The server does not listen')
}

const probe = new SshProbe()
afterAll(() => probe.close())
const question = { host: '127.0.0.1', patienceMs: 300, handshakeMs: 60_000, waitedMs: 0, lingers: false }
const ask = (port: number, more: Partial<typeof question> = {}) => probe.ask({ ...question, port, ...more })
/** Asks with a generous time limit, for servers that do answer, however busy the test machine is. */
const patiently = (port: number, more: Partial<typeof question> = {}) =>
  ask(port, { patienceMs: 60_000, ...more })

function keyFile(type: string): string {
  const file = join(folder, `${type}-${randomBytes(4).toString('hex')}`)
  execFileSync('ssh-keygen', ['-q', '-t', type, '-m', 'PEM', '-N', '', '-f', file])
  return file
}

async function realServer(hostKeys: ssh2.ServerConfig['hostKeys']): Promise<number> {
  const real = new ssh2.Server({ hostKeys }, (client) => client.on('error', () => {}))
  onTestFinished(() => new Promise((resolve) => real.close(() => resolve())))
  await new Promise<void>((resolve) => real.listen(0, '127.0.0.1', resolve))
  return portIn(real.address())
}

test('every type of key that a server has is read, as ssh-keygen shows it', async () => {
  const keys = ['ed25519', 'ecdsa', 'rsa'].map((type) => {
    const path = keyFile(type)
    const [fingerprint] =
      /SHA256:\S+/.exec(execFileSync('ssh-keygen', ['-lf', path], { encoding: 'utf8' })) ?? []
    const [name, publicKey] = readFileSync(`${path}.pub`, 'utf8').split(' ')
    return { path, key: { type: name, fingerprint, publicKey } }
  })
  const port = await realServer(keys.map(({ path }) => readFileSync(path)))
  expect(await patiently(port)).toEqual(keys.map(({ key }) => key))
})

test('a key counts only if the server signs with it', async () => {
  const [shown, own] = ['ecdsa', 'ecdsa'].map((type) => parsed(readFileSync(keyFile(type))))
  if (!shown || !own) throw new Error('There are two keys')
  shown.sign = (data, algorithm) => own.sign(data, algorithm)
  // ssh2 accepts parsed keys, which its types do not include.
  const port = await realServer([{ key: shown as unknown as Buffer }])
  expect(await patiently(port)).toEqual([])
})

function parsed(privateKey: Buffer): ssh2.ParsedKey {
  const key = ssh2.utils.parseKey(privateKey)
  if (key instanceof Error) throw key
  return key
}

test('a guest without a listener, or with a silent one, is not ready', async () => {
  const port = await serve(() => {})
  expect(await ask(port)).toBeNull()
  expect(await ask(1)).toBeNull()
})

test.each<[string, (socket: Socket) => void]>([
  ['web server', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ['flood', (socket) => socket.write(Buffer.alloc(200_000, 'x'))],
  ['server that hangs up', (socket) => socket.destroy()],
])('a %s is not an ssh server', async (_name, greet) => {
  expect(await ask(await serve(greet))).toBeNull()
})

test.each<[string, Buffer]>([
  ['random bytes', randomBytes(5000)],
  ['a packet that claims 4 GB', Buffer.from('ffffffff0414', 'hex')],
  ['a list that claims 4 GB', Buffer.from(`000000300414${'00'.repeat(16)}ffffffff${'00'.repeat(40)}`, 'hex')],
])('a guest that says SSH- and then %s shows no keys and does no harm', async (_name, bytes) => {
  const port = await serve((socket) => socket.write(Buffer.concat([Buffer.from('SSH-2.0-evil\r\n'), bytes])))
  expect(await patiently(port)).toEqual([])
})

/** A packet before encryption (RFC 4253, 6). */
function packet(payload: Buffer): Buffer {
  const padding = 8 + ((8 - ((5 + payload.length) % 8)) % 8)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(1 + payload.length + padding)
  head[4] = padding
  return Buffer.concat([head, payload, Buffer.alloc(padding)])
}

function text(bytes: Buffer | string): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(bytes))
  return Buffer.concat([length, Buffer.from(bytes)])
}

/** A server's first bytes: its banner, and the algorithms that it offers. */
function greeting(keyExchange: string): Buffer {
  const both = ['aes128-ctr', 'aes128-ctr', 'hmac-sha2-256', 'hmac-sha2-256', 'none', 'none', '', '']
  const lists = [keyExchange, 'ssh-ed25519', ...both].map(text)
  const offer = Buffer.concat([Buffer.from([20]), randomBytes(16), ...lists, Buffer.alloc(5)])
  return Buffer.concat([Buffer.from('SSH-2.0-slow\r\n'), packet(offer)])
}

test('a server that chooses a huge prime does not make the service calculate', async () => {
  const prime = Buffer.concat([Buffer.alloc(1), getDiffieHellman('modp18').getPrime()])
  const group = packet(Buffer.concat([Buffer.from([31]), text(prime), text(Buffer.from([2]))]))
  const port = await serve((socket) =>
    socket.write(Buffer.concat([greeting('diffie-hellman-group-exchange-sha256'), group])),
  )
  await ask(1) // starts the thread
  // CPU time of this thread alone: neither other programs nor other threads count.
  const before = process.threadCpuUsage()
  expect(await patiently(port)).toEqual([])
  const { user, system } = process.threadCpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(250)
})

test('a server that stalls midway delays a probe no longer than its limit', async () => {
  const port = await serve((socket) => socket.write(greeting('curve25519-sha256')))
  expect(await patiently(port, { handshakeMs: 500 })).toEqual([])
})

test('a thread that hangs is ended, and the next probe gets another', async () => {
  const busy = new SshProbe(new URL('data:text/javascript,for (;;);'))
  onTestFinished(() => busy.close())
  const hasty = { ...question, port: 1, patienceMs: 100, handshakeMs: 100 }
  expect(await Promise.all([busy.ask(hasty), busy.ask(hasty)])).toEqual([null, null])
  expect(await busy.ask(hasty)).toBeNull()
})

test('a slow guest is awaited on its open connection, instead of being probed again and again', async () => {
  let connections = 0
  const port = await serve((socket) => {
    connections += 1
    setTimeout(() => socket.write(greeting('none')), 1_000)
  })
  expect(await ask(port, { patienceMs: 10_000, waitedMs: 60_000, handshakeMs: 100 })).toEqual([])
  expect(connections).toBeLessThanOrEqual(2)
})
