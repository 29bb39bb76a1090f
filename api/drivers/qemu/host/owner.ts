import { createHash } from 'node:crypto'
import { constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { closedFolder, isPassable } from '../../../files.ts'
import type { Accel } from './accel.ts'
import type { Owner } from './process.ts'

/** Above all ids that distributions and container managers give out (systemd's list of UIDs and GIDs). */
export const FIRST_UID = 0x70000000
const IMAGE_UID = FIRST_UID + 0x1000000
export const LAST_UID = IMAGE_UID

/** A user for one machine's processes, of no name and no rights, so that no guest that breaks out meets another. */
export function machineOwner(serverId: string): Owner {
  const uid = FIRST_UID + createHash('sha256').update(serverId).digest().readUIntBE(0, 3)
  return { uid, gid: kvmGroup() ?? uid }
}

/** A user for qemu-img on images that nobody vouches for, none of a machine; null: ours. Only root may choose. */
export function imageOwner(): Owner | null {
  return process.getuid?.() === 0 ? { uid: IMAGE_UID, gid: IMAGE_UID } : null
}

/** The group that may open /dev/kvm, unless it is root's. */
function kvmGroup(): number | null {
  const kvm = statSync('/dev/kvm', { throwIfNoEntry: false })
  return kvm && kvm.gid !== 0 && (kvm.mode & 0o060) === 0o060 ? kvm.gid : null
}

/**
 * Why machines cannot run as users of their own, as a sentence part, and for root what to do; null when they can.
 * @param machines the folder of all machines, in the data folder
 */
export function ownerObstacle(machines: string, accel: Accel): string | null {
  if (process.getuid?.() !== 0) return 'the service is not root'
  const closed = closedFolder(machines)
  if (closed !== null)
    return (
      `other users may not pass through ${closed}. Let them, with chmod o+x ${closed}; or stop servers and service, ` +
      `move ${dirname(machines)} to where they may, such as /var/lib/berth, and set BERTH_DATA (--data) to that`
    )
  const kvm = statSync('/dev/kvm', { throwIfNoEntry: false })
  if (accel === 'kvm' && kvmGroup() === null && kvm && (kvm.mode & 0o006) !== 0o006)
    return 'only root may open /dev/kvm. Give it to a group: groupadd -fr kvm && chgrp kvm /dev/kvm && chmod 660 /dev/kvm'
  return null
}

/** Whether any user may read this file. */
export function isReadable(file: string): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & constants.S_IROTH) !== 0 && isPassable(dirname(file))
}
