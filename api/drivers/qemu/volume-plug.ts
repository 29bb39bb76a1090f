import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError } from '../driver.ts'
import { MOST_VOLUMES } from '../volumes.ts'
import { optionOf } from './plug.ts'
import type { Qmp } from './qmp.ts'

/** A volume of a machine, and its file as the machine's QEMU sees it. */
export interface LentVolume {
  id: string
  file: string
}

/** Disks can be removed from this controller without the guest's help. */
const CONTROLLER = 'volumes'
const PATIENCE_MS = 20_000
const GONE_MS = 10_000
const LOOK_MS = 50

const hexOf = (id: string) => id.replaceAll('-', '')
/** QEMU's name for a volume's device and node: a node's name has at most 31 characters and begins with a letter. */
const nameOf = (id: string) => `v-${hexOf(id).slice(-20)}`

/** The limits are those of the machine's own disk, which shares them. */
const node = ({ id, file }: LentVolume) => ({
  driver: 'throttle',
  'node-name': nameOf(id),
  'throttle-group': 'plan',
  discard: 'unmap',
  file: {
    driver: 'raw',
    discard: 'unmap',
    'detect-zeroes': 'unmap',
    file: { driver: 'file', filename: file, discard: 'unmap' },
  },
})

/** The guest names the disk after these values (drivers/volumes.ts). */
const device = (id: string, target: number) => ({
  driver: 'scsi-hd',
  id: nameOf(id),
  drive: nameOf(id),
  bus: `${CONTROLLER}.0`,
  channel: 0,
  'scsi-id': target,
  lun: 0,
  vendor: 'BERTH',
  product: 'Volume',
  serial: hexOf(id),
  device_id: hexOf(id),
})

/** Returns QEMU's arguments for the volumes' controller, which can't be added later, and for those of the start. */
export function volumeArguments(volumes: readonly LentVolume[]): string[] {
  return [
    ...['-device', optionOf({ driver: 'virtio-scsi-pci', id: CONTROLLER })],
    ...volumes.flatMap((volume, at) => [
      ...['-blockdev', JSON.stringify(node(volume))],
      ...['-device', optionOf(device(volume.id, at))],
    ]),
  ]
}

/**
 * Adds a volume to a running machine. Does nothing if the machine has it.
 * @throws DriverError unsupported
 */
export async function plugVolume(qmp: Qmp, volume: LentVolume): Promise<void> {
  await qmp.run('blockdev-add', node(volume), PATIENCE_MS).catch(ignore(/Duplicate nodes/))
  let failure = ''
  // Only an attempt shows whether a place is free.
  for (let target = 0; target < MOST_VOLUMES; target++) {
    try {
      await qmp.run('device_add', device(volume.id, target), PATIENCE_MS)
      return
    } catch (error) {
      failure = String(error)
      if (/Duplicate device ID/.test(failure)) return
      if (!/already used|in use/.test(failure)) break
    }
  }
  await qmp.run('blockdev-del', { 'node-name': nameOf(volume.id) }, PATIENCE_MS)
  if (!/Bus '.*' not found/.test(failure)) throw new Error(failure)
  throw new DriverError('unsupported', 'The running machine has no controller for volumes')
}

/** Removes a volume from a running machine, whatever the guest does with it. */
export async function unplugVolume(qmp: Qmp, id: string): Promise<void> {
  const name = nameOf(id)
  const deadline = performance.now() + GONE_MS
  await qmp.run('device_del', { id: name }, PATIENCE_MS).catch(ignore(/not found|process of unplug/))
  for (;;) {
    const left = await qmp.run('blockdev-del', { 'node-name': name }, PATIENCE_MS).catch(String)
    if (typeof left !== 'string' || /Failed to find node/.test(left)) return
    // QEMU removes the device a moment after the request.
    if (!/in use/.test(left) || performance.now() > deadline) throw new Error(left)
    await sleep(LOOK_MS)
  }
}

/** Tells a running machine that the file of a volume has grown. Does nothing if the machine does not have it. */
export async function growVolume(qmp: Qmp, id: string, bytes: number): Promise<void> {
  await qmp
    .run('block_resize', { 'node-name': nameOf(id), size: bytes }, PATIENCE_MS)
    .catch(ignore(/Cannot find|Failed to find/))
}

function ignore(expected: RegExp): (error: unknown) => void {
  return (error) => {
    if (!expected.test(String(error))) throw error
  }
}
