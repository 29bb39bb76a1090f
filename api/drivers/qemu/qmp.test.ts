import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Allowance, Qmp, type QmpEvent } from './qmp.ts'

let folder: string
let server: Server
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-qmp-'))
  path = join(folder, 'qmp.sock')
})
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})

/** A server that greets and answers each command with its reply in the table. */
async function serve(
  answers: Record<string, (socket: Socket, id: number) => void>,
  greeting = '{"QMP":{}}\r\n',
) {
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(greeting)
    socket.on('data', (data) => {
      for (const line of data.toString().split('\n').filter(Boolean)) {
        const { execute, id } = JSON.parse(line)
        if (execute === 'qmp_capabilities') socket.write(`{"return":{},"id":${id}}\r\n`)
        else answers[execute]?.(socket, id)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
}

test('replies are matched to their commands, whatever their order and pieces, and amid events', async () => {
  const held: number[] = []
  await serve({
    first: (_socket, id) => held.push(id),
    second: (socket, id) => {
      const text = `{"event":"STOP","data":{"a":1}}\r\n{"return":"two","id":${id}}\r\n{"return":"one","id":${held[0]}}\r\n`
      socket.write(text.slice(0, 20))
      setImmediate(() => socket.write(text.slice(20)))
    },
  })
  const events: QmpEvent[] = []
  const qmp = await Qmp.connect(path, 60_000, { onEvent: (event) => events.push(event) })
  expect(await Promise.all([qmp.run('first'), qmp.run('second')])).toEqual(['one', 'two'])
  expect(events).toEqual([{ event: 'STOP', data: { a: 1 } }])
  qmp.close()
})

test("QEMU's error message is the message of the error", async () => {
  await serve({
    bad: (socket, id) => socket.write(`{"error":{"class":"X","desc":"no such thing"},"id":${id}}\r\n`),
  })
  const qmp = await Qmp.connect(path, 60_000)
  await expect(qmp.run('bad')).rejects.toThrow('no such thing')
  qmp.close()
})

test('an endless error message is truncated', async () => {
  await serve({
    bad: (socket, id) => socket.write(`{"error":{"desc":"${'no '.repeat(50_000)}"},"id":${id}}\r\n`),
  })
  const qmp = await Qmp.connect(path, 60_000)
  const error = await qmp.run('bad').catch((error: Error) => error)
  expect(String(error).length).toBeLessThan(600)
  qmp.close()
})

test('a command without a reply times out, and the connection stays usable', async () => {
  await serve({ silent: () => {}, loud: (socket, id) => socket.write(`{"return":{},"id":${id}}\r\n`) })
  const qmp = await Qmp.connect(path, 60_000)
  await expect(qmp.run('silent', {}, 30)).rejects.toThrow('silent within 30 ms')
  expect(await qmp.run('loud')).toEqual({})
  qmp.close()
})

test('a server that never greets, because it serves another client, times out', async () => {
  await serve({}, '')
  await expect(Qmp.connect(path, 30)).rejects.toThrow('did not greet')
})

test('a lost connection fails all pending commands, and is reported once', async () => {
  await serve({ die: (socket) => socket.destroy() })
  let closed = 0
  const qmp = await Qmp.connect(path, 60_000, { onClose: () => closed++ })
  await expect(qmp.run('die')).rejects.toThrow('closed')
  await expect(qmp.run('more')).rejects.toThrow('closed')
  await expect.poll(() => closed).toBe(1)
  expect(qmp.isOpen).toBe(false)
})

test.each([
  ['a line without an end', 'x'.repeat(300_000)],
  ['something that is not JSON', 'hello\r\n'],
])('%s ends the connection', async (what, text) => {
  await serve({ mad: (socket) => socket.write(text) })
  const qmp = await Qmp.connect(path, 60_000)
  await expect(qmp.run('mad')).rejects.toThrow(what)
  expect(qmp.isOpen).toBe(false)
})

test('a failed connection has the error code of the system', async () => {
  await serve({})
  await expect(Qmp.connect(join(folder, 'other.sock'), 60_000)).rejects.toMatchObject({ code: 'ENOENT' })
})

const NEWS = '{"event":"STOP"}\r\n'
const flood = (bytes: number) => NEWS.repeat(bytes / NEWS.length)

test('a flood is read slowly and completely, so that later replies still arrive', async () => {
  await serve({
    flood: (socket) => socket.write(flood(450_000)),
    ask: (socket, id) => socket.write(`{"return":"after","id":${id}}\r\n`),
  })
  let heard = 0
  const onEvent = () => {
    heard += NEWS.length
  }
  const begun = performance.now()
  const qmp = await Qmp.connect(path, 60_000, { onEvent })
  await expect(qmp.run('flood', {}, 300)).rejects.toThrow('within 300 ms')
  // The bound is the burst, the allowance since then, and one more piece.
  expect(heard).toBeLessThan(256_000 + 64 * (performance.now() - begun) + 80_000)
  expect(await qmp.run('ask', {}, 60_000)).toBe('after')
  expect(heard).toBeGreaterThan(449_000)
  qmp.close()
})

test('a reconnection does not reset the allowance', async () => {
  await serve({ flood: (socket) => socket.write(flood(250_000)) })
  const allowance = new Allowance()
  let heard = 0
  const onEvent = () => {
    heard += NEWS.length
  }
  const begun = performance.now()
  for (let round = 0; round < 4; round++) {
    const qmp = await Qmp.connect(path, 60_000, { onEvent, allowance })
    await qmp.run('flood', {}, 100).catch(() => {})
    qmp.close()
  }
  expect(heard).toBeLessThan(256_000 + 4 * 66_000 + 64 * (performance.now() - begun))
})
