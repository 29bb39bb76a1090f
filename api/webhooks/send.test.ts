import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock as clock } from '../clock.ts'
import { Addresses } from './addresses.ts'
import { locate, send } from './send.ts'

/** A raw TCP server that sends the given text. @returns its port */
async function speaker(speak: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('data', () => speak(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the server has no address')
  return address.port
}

const message = { id: 'id', body: '{}', secrets: ['whsec_AAAA'] }
const stopped = new AbortController().signal
const post = (port: number) =>
  send({ ...message, url: `http://mine.test:${port}/`, address: '127.0.0.1' }, clock, stopped)

test.each([100, 103])('an endpoint that goes on with replies %i is cut off', async (status) => {
  const piece = `HTTP/1.1 ${status} x\r\n\r\n`.repeat(100)
  const port = await speaker((socket) => {
    const speak = () => {
      if (socket.destroyed) return
      socket.write(piece)
      setImmediate(speak)
    }
    speak()
  })
  expect(await post(port)).toEqual({ status: null, reply: '', error: 'Too many 1xx replies.' })
})

test('a few replies 1xx before the reply are passed over', async () => {
  const early = 'HTTP/1.1 103 x\r\nlink: </a>\r\n\r\n'
  const end = 'HTTP/1.1 200 x\r\ncontent-length: 2\r\n\r\nok'
  const port = await speaker((socket) => socket.end(early.repeat(3) + end))
  expect(await post(port)).toEqual({ status: 200, reply: 'ok', error: null })
})

test('an endpoint that would speak another protocol is told of at once', async () => {
  const port = await speaker((socket) =>
    socket.write('HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
  )
  expect(await post(port)).toEqual({ status: 101, reply: '', error: 'The status was 101.' })
})

test('a name that leads to thousands of addresses is refused before they are looked at', async () => {
  const many = Array.from({ length: 4_000 }, (_, n) => ({ address: `8.8.${n >> 8}.${n & 255}`, family: 4 }))
  const options = { clock, addresses: new Addresses([]), lookup: async () => many }
  const answer = await locate('http://mine.test/', options, stopped)
  expect(answer).toEqual({ error: 'The host has more than 64 addresses.' })
})
