import { createHash } from 'node:crypto'
import { constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Accel } from './accel.ts'
import type { Owner } from './process.ts'

/** Above all ids that distributions and container managers give out (systemd's list of UIDs and GIDs). */
export const FIRST_UID = 0x70000000
export const LAST_UID = FIRST_UID + 0xffffff

/** A user for one machine's processes, of no name and no rights, so that no guest that breaks out meets another. */
export function machineOwner(serverId: string): Owner {
  const uid = FIRST_UID + createHash('sha256').update(serverId).digest().readUIntBE(0, 3)
  return { uid, gid: kvmGroup() ?? uid }
}

/** The group that may open /dev/kvm, unless it is root's. */
function kvmGroup(): number | null {
  const kvm = statSync('/dev/kvm', { throwIfNoEntry: false })
  return kvm && kvm.gid !== 0 && (kvm.mode & 0o060) === 0o060 ? kvm.gid : null
}

/** Why machines cannot run as users of their own, as a sentence part; null when they can. */
export function ownerObstacle(dataDir: string, accel: Accel): string | null {
  if (process.getuid?.() !== 0) return 'the service is not root'
  if (!isPassable(dataDir)) return `other users may not pass through ${dataDir}`
  const kvm = statSync('/dev/kvm', { throwIfNoEntry: false })
  if (accel === 'kvm' && kvmGroup() === null && kvm && (kvm.mode & 0o006) !== 0o006)
    return 'only root may open /dev/kvm'
  return null
}

/** Whether any user may pass through this folder and all above it. */
export function isPassable(folder: string): boolean {
  const mode = statSync(folder, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & constants.S_IXOTH) === 0) return false
  return folder === dirname(folder) || isPassable(dirname(folder))
}

/** Whether any user may read this file. */
export function isReadable(file: string): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & constants.S_IROTH) !== 0 && isPassable(dirname(file))
}
