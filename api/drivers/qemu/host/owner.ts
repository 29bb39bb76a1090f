import { createHash } from 'node:crypto'
import { constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { closedFolder, isPassable } from '../../../files.ts'
import type { Accel } from './accel.ts'
import type { Owner } from './process.ts'

/** The ids above all those that distributions and container managers assign (systemd's list of UIDs and GIDs). */
export const FIRST_UID = 0x70000000
const IMAGE_UID = FIRST_UID + 0x1000000
export const LAST_UID = IMAGE_UID

/**
 * Returns a user for one machine's processes, without a name or rights, so that guests that break out can't reach
 * each other.
 */
export function machineOwner(serverId: string): Owner {
  const uid = FIRST_UID + createHash('sha256').update(serverId).digest().readUIntBE(0, 3)
  return { uid, gid: kvmGroup() ?? uid }
}

/**
 * Returns a user for qemu-img on untrusted images, shared with no machine; null: the service's own, since only root
 * may switch.
 */
export function imageOwner(): Owner | null {
  return process.getuid?.() === 0 ? { uid: IMAGE_UID, gid: IMAGE_UID } : null
}

/** The group that may open /dev/kvm, unless that is root's. */
function kvmGroup(): number | null {
  const kvm = statSync('/dev/kvm', { throwIfNoEntry: false })
  return kvm && kvm.gid !== 0 && (kvm.mode & 0o060) === 0o060 ? kvm.gid : null
}

/**
 * Explains as part of a sentence why machines can't run as users of their own, and to root what to do; null if they
 * can.
 * @param machines the folder of all machines, in the data folder
 */
export function ownerObstacle(machines: string, accel: Accel): string | null {
  if (process.getuid?.() !== 0) return 'the service is not root'
  const closed = closedFolder(machines)
  if (closed !== null)
    return (
      `other users have no access to ${closed}. Allow it with chmod o+x ${closed}; or stop servers and service, ` +
      `move ${dirname(machines)} to a folder that they have access to, such as /var/lib/berth, and set BERTH_DATA (--data) to that`
    )
  const kvm = statSync('/dev/kvm', { throwIfNoEntry: false })
  if (accel === 'kvm' && kvmGroup() === null && kvm && (kvm.mode & 0o006) !== 0o006)
    return 'only root has access to /dev/kvm. Give a group access: groupadd -fr kvm && chgrp kvm /dev/kvm && chmod 660 /dev/kvm'
  return null
}

/** True if every user may read this file. */
export function isReadable(file: string): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & constants.S_IROTH) !== 0 && isPassable(dirname(file))
}
