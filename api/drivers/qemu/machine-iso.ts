import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DriverError } from '../driver.ts'
import { machineOwner } from './host/owner.ts'
import { changeIso, isoName, lendIso } from './iso-drive.ts'
import type { Context } from './launch.ts'
import type { MachineRecord } from './layout.ts'
import { diskOf } from './live-copy.ts'
import type { MachineProcess } from './machine-process.ts'
import { monitorOf } from './machine-volumes.ts'

/**
 * Puts an ISO into the drive of a machine, or takes it out: live if the machine is on, and for its next start.
 * @throws DriverError not_found, unavailable, unsupported (until its next start)
 */
export async function insertIn(
  process: MachineProcess,
  { ownUsers }: Pick<Context, 'ownUsers'>,
  iso: MachineRecord['iso'] | null,
): Promise<void> {
  const qmp = await monitorOf(process)
  const { record, files } = process
  if (!record) throw new DriverError('not_found', 'No such machine')
  const { iso: before, ...others } = record
  if (before?.id !== iso?.id) await process.keep(iso ? { ...others, iso } : others)
  if (!qmp) return
  if (iso) await lendIso(iso, files.run, ownUsers ? machineOwner(process.id) : null)
  const { folder } = await diskOf(qmp)
  await changeIso(qmp, iso?.id ?? null, join(folder, 'run'))
  if (before && before.id !== iso?.id) await rm(join(files.run, isoName(before.id)), { force: true })
}
