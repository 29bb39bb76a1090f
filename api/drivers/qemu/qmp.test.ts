import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Qmp, type QmpEvent } from './qmp.ts'

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

/** A server that greets and answers each command by what the table gives for it. */
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

test('answers find their commands, whatever their order, pieces and company', async () => {
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
  const qmp = await Qmp.connect(path, 1000, (event) => events.push(event))
  expect(await Promise.all([qmp.run('first'), qmp.run('second')])).toEqual(['one', 'two'])
  expect(events).toEqual([{ event: 'STOP', data: { a: 1 } }])
  qmp.close()
})

test("QEMU's complaint is the error", async () => {
  await serve({
    bad: (socket, id) => socket.write(`{"error":{"class":"X","desc":"no such thing"},"id":${id}}\r\n`),
  })
  const qmp = await Qmp.connect(path, 1000)
  await expect(qmp.run('bad')).rejects.toThrow('no such thing')
  qmp.close()
})

test('silence ends in a time-out, and the connection lives on', async () => {
  await serve({ silent: () => {}, loud: (socket, id) => socket.write(`{"return":{},"id":${id}}\r\n`) })
  const qmp = await Qmp.connect(path, 1000)
  await expect(qmp.run('silent', {}, 30)).rejects.toThrow('silent within 30 ms')
  expect(await qmp.run('loud')).toEqual({})
  qmp.close()
})

test('a server that never greets, because it serves another client, times out', async () => {
  await serve({}, '')
  await expect(Qmp.connect(path, 30)).rejects.toThrow('did not greet')
})

test('a lost connection fails what waits, and says so once', async () => {
  await serve({ die: (socket) => socket.destroy() })
  let closed = 0
  const qmp = await Qmp.connect(path, 1000, undefined, () => closed++)
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
  const qmp = await Qmp.connect(path, 1000)
  await expect(qmp.run('mad')).rejects.toThrow(what)
  expect(qmp.isOpen).toBe(false)
})

test('nobody there: the system says why', async () => {
  await serve({})
  await expect(Qmp.connect(join(folder, 'other.sock'), 1000)).rejects.toMatchObject({ code: 'ENOENT' })
})
