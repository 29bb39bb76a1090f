import { chmod, constants, copyFile, link, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DriverError } from '../driver.ts'
import type { Owner } from './host/process.ts'
import type { MachineRecord } from './layout.ts'
import { optionOf } from './plug.ts'
import type { Qmp } from './qmp.ts'

type LentIso = NonNullable<MachineRecord['iso']>

const DRIVE = 'cd0'
const PATIENCE_MS = 20_000

export const isoName = (id: string) => `${id}.iso`
/** QEMU's name for an ISO: a node's name has at most 31 characters and begins with a letter. */
const nodeOf = (id: string) => `iso-${id.replaceAll('-', '').slice(-20)}`

/** The format is fixed to raw, because QEMU must not guess it from untrusted content. */
const node = (id: string, folder: string) => ({
  driver: 'raw',
  'node-name': nodeOf(id),
  'read-only': true,
  file: { driver: 'file', 'read-only': true, filename: join(folder, isoName(id)) },
})

/** True if a machine boots the ISO in its drive. A rescue system comes before it. */
export function bootsIso({ iso, rescue }: Pick<MachineRecord, 'iso' | 'rescue'>): boolean {
  return iso !== undefined && !rescue
}

/**
 * Returns QEMU's arguments for the drive, which can't be added later and may be empty.
 * @param isFirst true if it boots before the disk
 */
export function driveArguments(iso: LentIso | undefined, folder: string, isFirst: boolean): string[] {
  return [
    ...(iso ? ['-blockdev', JSON.stringify(node(iso.id, folder))] : []),
    '-device',
    optionOf({
      ...{ driver: 'ide-cd', id: DRIVE, bus: 'ide.0' },
      ...(iso ? { drive: nodeOf(iso.id) } : {}),
      ...(isFirst ? { bootindex: 0 } : {}),
    }),
  ]
}

/**
 * Links the file of an ISO into a folder that the machine's QEMU can read.
 * @param owner the machine's user; null: that of the service, who could change a file that machines share
 */
export async function lendIso({ id, file }: LentIso, folder: string, owner: Owner | null): Promise<void> {
  const place = join(folder, isoName(id))
  await rm(place, { force: true })
  if (owner) return link(file, place)
  await copyFile(file, place, constants.COPYFILE_FICLONE)
  await chmod(place, 0o444)
}

/**
 * Replaces the ISO in the drive of a running machine, even if the guest has locked it. Does nothing if the ISO is
 * there already.
 * @param folder the machine's `run` folder, as its QEMU sees it
 * @throws DriverError unsupported if the machine was started without a drive
 */
export async function changeIso(qmp: Qmp, id: string | null, folder: string): Promise<void> {
  const present = await inDrive(qmp)
  const wanted = id === null ? null : nodeOf(id)
  if (present === wanted) return
  await qmp.run('blockdev-open-tray', { id: DRIVE, force: true }, PATIENCE_MS)
  if (present !== null) {
    await qmp.run('blockdev-remove-medium', { id: DRIVE }, PATIENCE_MS)
    await qmp.run('blockdev-del', { 'node-name': present }, PATIENCE_MS)
  }
  if (id !== null) {
    // An interrupted earlier call may have added the node.
    await qmp.run('blockdev-add', node(id, folder), PATIENCE_MS).catch((error: unknown) => {
      if (!/Duplicate nodes/.test(String(error))) throw error
    })
    await qmp.run('blockdev-insert-medium', { id: DRIVE, 'node-name': nodeOf(id) }, PATIENCE_MS)
  }
  await qmp.run('blockdev-close-tray', { id: DRIVE }, PATIENCE_MS)
}

/** @returns the node in the drive; null: it is empty */
async function inDrive(qmp: Qmp): Promise<string | null> {
  // QEMU's schema of query-block.
  const blocks = (await qmp.run('query-block', {}, PATIENCE_MS)) as {
    qdev?: string
    inserted?: { 'node-name'?: string }
  }[]
  const drive = blocks.find(({ qdev }) => qdev === DRIVE)
  if (!drive) throw new DriverError('unsupported', 'The running machine has no drive until its next start')
  return drive.inserted?.['node-name'] ?? null
}
