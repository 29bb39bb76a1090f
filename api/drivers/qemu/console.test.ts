import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Console } from '../console.ts'
import { TestViewer } from '../test-viewer.ts'
import { overlap } from './console.ts'
import { endOfLog } from './logs.ts'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
beforeAll(async () => {
  world = await QemuWorld.open()
})
afterAll(() => world?.close())

/** A reader at a console who never pauses. */
function reading(console: Console) {
  let shown = ''
  let skipped = 0
  const over = (async () => {
    for (let printed = await console.read(); printed; printed = await console.read()) {
      shown = (shown + printed.bytes.toString('latin1')).slice(-200_000)
      skipped += printed.skipped
    }
  })()
  const type = (text: string) => console.write(Buffer.from(text))
  const shows = (text: string | RegExp) =>
    world.until(`the console shows ${text}`, async () =>
      typeof text === 'string' ? shown.includes(text) : text.test(shown),
    )
  return { type, shows, shown: () => shown, skipped: () => skipped, over, close: () => console.close() }
}

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Bytes in memory after a garbage collection. */
function held(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const logOf = (id: string) => join(world.dataDir, 'vms', id, 'log/serial.log')

test('several viewers see and use the screen of a guest, and a guest of an earlier version has none', async () => {
  const id = 'shown'
  await world.make(id)
  await expect(world.driver.openScreen(id)).rejects.toMatchObject({ code: 'not_found' })
  await world.driver.start(id)
  await world.untilReady(id)
  const [one, other] = [
    await TestViewer.open(await world.driver.openScreen(id)),
    await TestViewer.open(await world.driver.openScreen(id)),
  ]
  await world.until('the login prompt is shown', async () => (await other.lit()) > 500)
  const before = await other.lit()
  one.type('nobody\n')
  // Both the name and the prompt for its password are on the picture then.
  await world.until('the keys reach the guest', async () => (await other.lit()) > before + 400)
  await world.driver.close()
  rmSync(join(world.dataDir, 'vms', id, 'run/vnc.sock'))
  await world.restart()
  await expect(world.driver.openScreen(id)).rejects.toMatchObject({ code: 'unsupported' })
  await world.driver.destroy(id)
  await Promise.all([one.ended(), other.ended()])
})

test('two people use one console and log in by password, also after a restart of the service', async () => {
  const id = 'seen'
  await world.make(id, { password: 'correct horse', sshPublicKeys: [] })
  await expect(world.driver.openConsole(id)).rejects.toMatchObject({ code: 'not_found' })
  await world.driver.start(id)
  const one = reading(await world.driver.openConsole(id))
  await one.shows('login: ')
  const other = reading(await world.driver.openConsole(id))
  await other.shows('login: ')
  one.type('ann\r')
  await one.shows('Password: ')
  one.type('correct horse\r')
  await one.shows(/~[$#] /)
  other.type('uname -a; echo $((40 + 2))\r')
  for (const { shows } of [one, other]) await shows(/Linux host-seen [\s\S]*\r\n42\r\n/)
  // The service ends: both readers are disconnected, while the guest and its log continue.
  await world.restart()
  await Promise.all([one.over, other.over])
  const again = reading(await world.driver.openConsole(id))
  again.type('echo after $((1 + 1))\r')
  await again.shows('\r\nafter 2\r\n')
  expect(again.shown().match(/\r\n42\r\n/g)).toHaveLength(1)
  // The log has a writer of its own.
  await expect.poll(() => endOfLog(logOf(id), 64 * 1024)).toContain('after 2')
  // Connected readers see the machine end.
  await world.driver.powerOff(id)
  await again.over
  await world.driver.destroy(id)
})

test('a guest that prints without end waits for no reader, and a reader who pauses costs the service no memory', async () => {
  const id = 'flood'
  await world.make(id)
  await world.driver.start(id)
  await world.untilReady(id)
  const asleep = await world.driver.openConsole(id)
  await asleep.read()
  const awake = reading(await world.driver.openConsole(id))
  await world.ssh(
    id,
    'sudo -n sh -c "setsid yes 0123456789abcdefghijklmnopqrstuvwxyz >/dev/ttyS0 2>&1 &" >/dev/null 2>&1',
  )
  await awake.shows('0123456789abcdefghijklmnopqrstuvwxyz\r\n0123')
  let most = 0
  const before = held()
  const from = (await endOfLog(logOf(id), 100)).length
  // A new file may get the inode of a deleted one, but not its time of birth.
  const files = new Set<string>()
  await world.until('the guest has printed more than its log keeps', async () => {
    most = Math.max(most, held() - before)
    const file = statSync(logOf(id), { throwIfNoEntry: false })
    if (file) files.add(`${file.ino} ${file.birthtimeMs}`)
    return files.size >= 4
  })
  expect(from).toBe(100)
  expect(most).toBeLessThan(16 * 2 ** 20)
  expect((await asleep.read())?.skipped).toBeGreaterThan(256 * 1024)
  expect(await world.ssh(id, 'echo fine')).toBe('fine')
  asleep.close()
  awake.close()
  await world.driver.destroy(id)
})

test('only a real socket is connected to, and a machine without one reports that', async () => {
  const id = 'replaced'
  await world.make(id)
  await world.driver.start(id)
  const { sockets } = JSON.parse(readFileSync(join(world.dataDir, 'vms', id, 'running.json'), 'utf8'))
  const socket = join(sockets, 'serial.sock')
  let connections = 0
  const elsewhere = join(world.dataDir, 'other.sock')
  const server = createServer(() => {
    connections += 1
  }).listen(elsewhere)
  renameSync(socket, `${socket}.kept`)
  const refused = () => expect(world.driver.openConsole(id)).rejects.toMatchObject({ code: 'unsupported' })
  await refused()
  symlinkSync(elsewhere, socket)
  await refused()
  rmSync(socket)
  mkdirSync(socket)
  await refused()
  expect(connections).toBe(0)
  server.close()
  rmSync(socket, { recursive: true })
  renameSync(`${socket}.kept`, socket)
  ;(await world.driver.openConsole(id)).close()
  await world.driver.destroy(id)
})

test('output that is already in the log is not shown twice', () => {
  const of = (before: string, since: string) => overlap(Buffer.from(before), Buffer.from(since))
  expect([of('abc', 'cde'), of('abc', 'abc'), of('abc', 'xyz'), of('', 'a'), of('aab', 'ab')]).toEqual([
    1, 3, 0, 0, 2,
  ])
})
