import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { boundConnections } from './connections.ts'

const MOST = 200

/** A server with room for 200 connections. */
async function listening() {
  const server = createServer((_request, reply) => reply.end('served'))
  boundConnections(server, [], (socket) => socket.destroy(), MOST)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  // The server listens on an address and a port.
  const { port } = server.address() as AddressInfo
  return (localAddress: string) => {
    const socket = createConnection({ host: '127.0.0.1', port, localAddress })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    return socket
  }
}

/** True if a request over the connection is answered. */
async function isServed(socket: ReturnType<Awaited<ReturnType<typeof listening>>>): Promise<boolean> {
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const [bytes] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
  return String(bytes).startsWith('HTTP/1.1 200')
}

test('clients of other networks can connect while 40 addresses of one network hold all connections', async () => {
  const connect = await listening()
  const customer = connect('127.9.9.9')
  expect(await isServed(customer)).toBe(true)
  const held = Array.from({ length: 2 * MOST }, (_, at) => connect(`127.1.1.${1 + (at % 40)}`))
  await Promise.all(held.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
  for (const address of ['127.2.0.1', '127.3.0.1', '127.3.0.2'])
    expect(await isServed(connect(address))).toBe(true)
  expect(await isServed(customer)).toBe(true)
  expect(await isServed(connect('127.1.1.41'))).toBe(false)
})

test('a network gets its first connection even if all places are held by networks with one connection each', async () => {
  const connect = await listening()
  const held = Array.from({ length: MOST }, (_, at) => connect(`127.1.${at}.1`))
  await Promise.all(held.map((socket) => once(socket, 'connect')))
  expect(await isServed(connect('127.2.0.1'))).toBe(true)
  expect(await isServed(connect('127.2.0.2'))).toBe(false)
})
