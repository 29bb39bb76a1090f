import { askAgent } from './agent.ts'
import type { MachineProcess } from './machine-process.ts'

/** A copy waits this long for the agent of a guest that may have none. */
const PING_MS = 2000
const FREEZE_MS = 5000
const THAW_MS = 5000

/**
 * Runs a function while the guest's file systems are frozen, if its agent can freeze them. Only the service thaws
 * them. So the machine's record notes that they may be frozen, for later calls of this process or the next.
 * @returns true if they were frozen all the time, according to the guest
 */
export async function whileFrozen(process: MachineProcess, work: () => Promise<void>): Promise<boolean> {
  const isFrozen = await freeze(process)
  try {
    await work()
  } finally {
    await thaw(process)
  }
  return isFrozen && !process.run?.isFrozen
}

/** Thaws a guest that may be frozen, or leaves it to the next call. */
export async function thaw(process: MachineProcess, patienceMs = THAW_MS): Promise<void> {
  if (!process.run?.isFrozen) return
  try {
    await askAgent(process.run.sockets, 'guest-fsfreeze-thaw', {}, patienceMs)
  } catch {
    return
  }
  await process.noteFrozen(false)
}

async function freeze(process: MachineProcess): Promise<boolean> {
  const sockets = process.run?.sockets ?? ''
  try {
    // A guest without an agent is never asked to freeze, so that there is nothing to thaw.
    await askAgent(sockets, 'guest-ping', {}, PING_MS)
    await process.noteFrozen(true)
    const count = await askAgent(sockets, 'guest-fsfreeze-freeze', {}, FREEZE_MS)
    return typeof count === 'number' && count > 0
  } catch {
    return false
  }
}
