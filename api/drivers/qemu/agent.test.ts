import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askAgent } from './agent.ts'

let folder: string
let server: Server | null
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-agent-'))
  server = null
})
afterEach(() => {
  server?.close()
  rmSync(folder, { recursive: true })
})

/** An agent of a guest that gets each command and can reply with anything. */
async function serve(answer: (socket: Socket, command: string, id: number) => void): Promise<string[]> {
  const asked: string[] = []
  server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      for (const line of data.toString('latin1').split('\n').filter(Boolean)) {
        const { execute, arguments: args } = JSON.parse(line.replace('\xff', ''))
        asked.push(execute)
        answer(socket, execute, args.id)
      }
    })
  })
  await new Promise<void>((resolve) => server?.listen(join(folder, 'ga.sock'), resolve))
  return asked
}

/** Answers the synchronization as an agent does. */
const sync = (socket: Socket, id: number) => socket.write(Buffer.from(`\xff{"return": ${id}}\n`, 'latin1'))
const isSync = (command: string) => command === 'guest-sync-delimited'

test('a reply is found after anything that an earlier connection or a broken command left behind', async () => {
  const asked = await serve((socket, command, id) => {
    if (!isSync(command)) return socket.write('{"return": 3}\n')
    socket.write(
      '{"error": {"class": "GenericError", "desc": "Invalid JSON"}}\n[]\nnull\n{"return": 1}\n{"retu',
    )
    return sync(socket, id)
  })
  expect(await askAgent(folder, 'guest-fsfreeze-freeze')).toBe(3)
  expect(asked).toEqual(['guest-sync-delimited', 'guest-fsfreeze-freeze'])
})

test("a guest's error is the message, and no more of it than fits into a log", async () => {
  await serve((socket, command, id) =>
    isSync(command)
      ? sync(socket, id)
      : socket.write(`{"error": {"desc": "no such user${'!'.repeat(9000)}"}}\n`),
  )
  const failure = await askAgent(folder, 'guest-set-user-password').catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'unavailable', message: expect.stringContaining('no such user!') })
  expect(String(failure).length).toBeLessThan(400)
})

test('a guest that is silent, disconnects, floods or sends nonsense gets no command and delays nobody', async () => {
  const ways: ((socket: Socket) => void)[] = [
    () => {},
    (socket) => socket.destroy(),
    (socket) => socket.write('x'.repeat(100_000)),
    (socket) => socket.write('{"return": null}\n'.repeat(10_000)),
  ]
  let way = ways[0]
  const asked = await serve((socket) => way?.(socket))
  for (way of ways)
    await expect(askAgent(folder, 'guest-ping', {}, 300)).rejects.toMatchObject({ code: 'unavailable' })
  expect(new Set(asked)).toEqual(new Set(['guest-sync-delimited']))
})

test('a machine without the channel reports that it gets one with its next start', async () => {
  await expect(askAgent(folder, 'guest-ping')).rejects.toMatchObject({ code: 'unsupported' })
})
