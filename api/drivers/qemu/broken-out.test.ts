import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, readSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { statFields } from './host/proc.ts'
import { isRunning, QemuWorld } from './test-world.ts'

/** Plays a guest that has taken over its QEMU process and attacks the service through it. */

let world: QemuWorld
beforeAll(async () => {
  world = await QemuWorld.open()
})
afterAll(async () => await world?.close())

const isRoot = process.getuid?.() === 0
const uuidOf = (id: string): string =>
  JSON.parse(readFileSync(join(world.dataDir, 'vms', id, 'spec.json'), 'utf8')).uuid

/** Overwrites a word among a process's arguments, as the process itself can. */
function rename(pid: number, word: string): void {
  const fields = statFields(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  const [start, end] = fields.slice(45, 47).map(Number)
  if (!start || !end) throw new Error('No arguments')
  const memory = openSync(`/proc/${pid}/mem`, 'r+')
  const args = Buffer.alloc(end - start)
  readSync(memory, args, 0, args.length, start)
  writeSync(memory, 'x'.repeat(word.length), start + args.indexOf(word))
  closeSync(memory)
}

test.skipIf(!isRoot)('a QEMU that hides its arguments is still ended with its machine', async () => {
  if ((await world.driver.host()).warnings.join().includes('no control groups')) return
  const id = 'hidden'
  await world.make(id)
  await world.driver.start(id)
  const pid = world.pidOf(id)
  rename(pid, uuidOf(id))
  expect(await world.driver.inspect(id)).toMatchObject({ power: 'stopped', reason: 'crashed' })
  expect(isRunning(pid)).toBe(true)
  await world.driver.destroy(id)
  expect(isRunning(pid)).toBe(false)
  expect(await world.leftovers(id)).toEqual([])
})

interface Forged {
  server: Server
  sockets: Socket[]
  asked: Record<string, number>
}

/** Answers on a machine's monitor socket in its place, with the reply that the table gives for each command. */
async function forge(id: string, answers: Record<string, unknown>): Promise<Forged> {
  await world.driver.close()
  const path = join(world.dataDir, 'vms', id, 'run/qmp.sock')
  renameSync(path, `${path}.true`)
  const forged: Forged = { server: createServer(), sockets: [], asked: {} }
  const table: Record<string, unknown> = {
    'query-uuid': { UUID: uuidOf(id) },
    'query-status': { status: 'running' },
    ...answers,
  }
  forged.server.on('connection', (socket) => {
    forged.sockets.push(socket)
    socket.on('error', () => {}).write('{"QMP":{}}\n')
    socket.on('data', (data) => {
      for (const line of data.toString().split('\n').filter(Boolean)) {
        const { execute, id: number } = JSON.parse(line)
        forged.asked[execute] = (forged.asked[execute] ?? 0) + 1
        socket.write(`${JSON.stringify({ return: table[execute] ?? {}, id: number })}\n`)
      }
    })
  })
  await new Promise<void>((resolve) => forged.server.listen(path, resolve))
  return forged
}

async function endForged(id: string, { server, sockets }: Forged): Promise<void> {
  await world.driver.close()
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
  const path = join(world.dataDir, 'vms', id, 'run/qmp.sock')
  renameSync(`${path}.true`, path)
  await world.restart()
  await world.driver.destroy(id)
}

test('a flood of events makes the service inspect the machine a few times, not once for each', async () => {
  const id = 'news'
  await world.make(id)
  await world.driver.start(id)
  const forged = await forge(id, {})
  await world.restart()
  const before = forged.asked['query-status'] ?? 0
  const begun = performance.now()
  forged.sockets.at(-1)?.write('{"event":"STOP"}\n'.repeat(900))
  await sleep(1000)
  // The limit is four looks a second, plus a burst.
  const looks = (forged.asked['query-status'] ?? 0) - before
  expect(looks).toBeLessThan(6 + (performance.now() - begun) / 250)
  expect((await world.driver.inspect(id)).power).toBe('running')
  await endForged(id, forged)
})

test('a monitor that keeps closing its connection is retried only with pauses', async () => {
  const id = 'closing'
  await world.make(id)
  await world.driver.start(id)
  const forged = await forge(id, {})
  await world.restart()
  forged.server.on('connection', (socket) => setTimeout(() => socket.destroy(), 30))
  const begun = performance.now()
  forged.sockets.at(-1)?.destroy()
  await sleep(1500)
  expect(forged.sockets.length).toBeLessThan(8 + (performance.now() - begun) / 200)
  await endForged(id, forged)
})

test('a QEMU that claims more CPUs than it has does not inflate its usage', async () => {
  const id = 'cores'
  await world.make(id)
  await world.driver.start(id)
  const forged = await forge(id, {
    'query-cpus-fast': Array.from({ length: 15_000 }, () => ({ 'thread-id': 1 })),
  })
  await world.restart()
  expect((await world.driver.measure([id])).get(id)?.cpuMs).toBeNull()
  await endForged(id, forged)
})

test('a process that merely has a machine’s name among its arguments delays no start, and is left alone', async () => {
  const id = 'named'
  await world.make(id)
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)', uuidOf(id)])
  const pid = child.pid ?? 0
  await world.driver.start(id)
  expect(world.pidOf(id)).not.toBe(pid)
  // This is the state after a service that ended before it wrote down the pid.
  const file = join(world.dataDir, 'vms', id, 'running.json')
  const { process: _process, ...run } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify(run))
  await world.restart()
  expect((await world.driver.inspect(id)).power).toBe('running')
  await world.driver.destroy(id)
  expect(isRunning(pid)).toBe(true)
  child.kill('SIGKILL')
})
