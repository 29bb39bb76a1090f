import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ssh2 from 'ssh2'
import { afterAll, afterEach, expect, test } from 'vitest'
import { readHostKeys } from './ssh.ts'

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

const ask = (port: number) => readHostKeys('127.0.0.1', port, 300, false)

test('every type of key that a server has is read, as ssh-keygen shows it', async () => {
  const keys = ['ed25519', 'ecdsa', 'rsa'].map((type) => {
    const path = join(folder, type)
    execFileSync('ssh-keygen', ['-q', '-t', type, '-m', 'PEM', '-N', '', '-f', path])
    const [fingerprint] =
      /SHA256:\S+/.exec(execFileSync('ssh-keygen', ['-lf', path], { encoding: 'utf8' })) ?? []
    const [name, publicKey] = readFileSync(`${path}.pub`, 'utf8').split(' ')
    return { path, key: { type: name, fingerprint, publicKey } }
  })
  const real = new ssh2.Server({ hostKeys: keys.map(({ path }) => readFileSync(path)) }, (client) =>
    client.on('error', () => {}),
  )
  await new Promise<void>((resolve) => real.listen(0, '127.0.0.1', resolve))
  expect(await ask(portIn(real.address()))).toEqual(keys.map(({ key }) => key))
  await new Promise<void>((resolve) => real.close(() => resolve()))
})

test('nobody there, or somebody silent, is not ready', async () => {
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
  expect(await ask(port)).toEqual([])
})
