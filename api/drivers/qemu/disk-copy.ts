import { virtualSize } from './disk.ts'
import { whileFrozen } from './freeze.ts'
import type { Context } from './launch.ts'
import { qemuOwner } from './launch.ts'
import { advance, dropDraft, type LiveCopy } from './live-copy.ts'
import type { MachineProcess } from './machine-process.ts'
import type { Source } from './pack.ts'
import type { Draft } from './snapshot-shelf.ts'

/** The parts of a copy that come from its snapshot. */
export interface CopyOfDisk extends Pick<LiveCopy, 'id' | 'whole'> {
  /** Stores facts about the copied disk. */
  note(facts: Pick<Draft, 'virtualSizeBytes' | 'consistency'>): Promise<void>
}

/** The disk of a machine that is off. */
export interface OffDisk extends Pick<Draft, 'virtualSizeBytes' | 'consistency'> {
  source: Omit<Source, 'virtualSizeBytes'>
}

/** The progress of a copy from 0 to 1, or the reason why QEMU does not copy. */
export type CopyStep = number | 'whole' | 'off' | 'hung' | 'absent'

const GIB = 2 ** 30

/** Advances the copy of a machine's disk, which its QEMU writes. No other call may change the machine meanwhile. */
export async function copyDisk(
  process: MachineProcess,
  context: Context,
  { id, whole, note }: CopyOfDisk,
): Promise<CopyStep> {
  const seen = await process.look()
  const record = process.record
  if (!record) return 'absent'
  if (seen.power === 'hung') return 'hung'
  if (seen.power !== 'on') return 'off'
  if (seen.status === 'shutdown') {
    await process.endShutDown()
    return 'off'
  }
  return advance(seen.qmp, {
    ...{ id, whole, folder: process.files.run },
    owner: qemuOwner(record.spec.serverId, record, context),
    mostBytes: record.spec.diskGb * GIB,
    moment: async (virtualSizeBytes, begin) => {
      await note({ virtualSizeBytes, consistency: 'crash' })
      if (await whileFrozen(process, begin)) await note({ virtualSizeBytes, consistency: 'filesystem' })
    },
  })
}

/** @returns null if the machine is on, or there is none */
export async function offDisk(process: MachineProcess, context: Context): Promise<OffDisk | null> {
  const seen = await process.look()
  const record = process.record
  if (seen.power !== 'off' || !record) return null
  // QEMU may have ended in the middle of a copy and left a draft.
  await dropDraft(process.files.run)
  const size = await virtualSize(process.files.disk)
  if (size === null || size > record.spec.diskGb * GIB)
    throw new Error(`The machine's disk claims to have ${size} bytes`)
  return {
    virtualSizeBytes: size,
    consistency: process.isCut ? 'crash' : 'filesystem',
    source: {
      file: process.files.disk,
      base: record.base,
      owner: qemuOwner(record.spec.serverId, record, context),
    },
  }
}
