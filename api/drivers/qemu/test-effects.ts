import { ChildProcess } from 'node:child_process'
import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'

/** For tests: counts the effects of this process on files, programs and QEMU, and kills it at one of them. */

let effects = 0
let killAt = 0
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

/**
 * Modules have to be loaded after this call.
 * @param at the number of the effect at which the process kills itself (0: none)
 * @returns a function that returns the number of effects
 */
export function countEffects(at: number): () => number {
  killAt = at
  for (const name of ['writeFile', 'rename', 'rm', 'open', 'mkdir', 'link', 'chown', 'chmod', 'unlink'])
    watch(fsPromises, name)
  watch(Socket.prototype, 'write', (data) => String(data).includes('"execute"'))
  watch(ChildProcess.prototype, 'spawn', () => {
    // This is another moment to die, in the middle of the program's work.
    setTimeout(count, 20)
    return true
  })
  syncBuiltinESMExports()
  return () => effects
}
