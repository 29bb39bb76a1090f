import { ChildProcess } from 'node:child_process'
import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * For tests: a process that copies a machine's disk until the copy is ready, and kills itself at one of its effects.
 * Arguments: the data folder, the machine, the snapshot, and the number of the effect (0: none). Prints how many
 * effects there were.
 */

let effects = 0
const killAt = Number(process.argv[5] ?? 0)
function count(): void {
  effects++
  if (effects === killAt) process.kill(process.pid, 'SIGKILL')
}

/** Calls `count` before each call of a method. */
function watch(owner: object, name: string, isEffect: (first: unknown) => boolean = () => true): void {
  // Only methods of the list below are named.
  const original = Reflect.get(owner, name) as (...args: unknown[]) => unknown
  const counted = function (this: unknown, ...args: unknown[]) {
    if (isEffect(args[0])) count()
    return original.apply(this, args)
  }
  Reflect.set(owner, name, counted)
}

const [, , dataDir = '', serverId = '', snapshotId = ''] = process.argv
if (import.meta.main) {
  for (const name of ['writeFile', 'rename', 'rm', 'open', 'mkdir', 'link', 'chown', 'chmod', 'unlink'])
    watch(fsPromises, name)
  watch(Socket.prototype, 'write', (data) => String(data).includes('"execute"'))
  watch(ChildProcess.prototype, 'spawn', () => {
    // This is another moment to die, in the middle of the program's work.
    setTimeout(count, 20)
    return true
  })
  syncBuiltinESMExports()
  // They are loaded after their effects are watched.
  const { openSnapshots } = await import('./test-snapshots.ts')
  const { snapshots } = await openSnapshots(dataDir)
  await snapshots.adopt()
  for (;;) {
    const state = await snapshots.state(serverId, snapshotId)
    if (state.state === 'failed') throw new Error(state.message)
    if (state.state === 'ready') break
    await sleep(20)
  }
  process.stdout.write(String(effects))
  process.exit()
}
