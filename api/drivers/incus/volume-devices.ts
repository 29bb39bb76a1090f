import { DriverError } from '../driver.ts'
import type { Device, Devices } from './cards.ts'

/** Begins the names of volumes, and of their devices. */
export const PREFIX = 'v-'

/** The directory at which a container finds a volume. */
export function volumeFolder(volumeId: string): string {
  return `/volumes/${volumeId.replaceAll('-', '')}`
}

/** @throws DriverError not_found if the id can't be part of a volume's name */
export function volumeName(volumeId: string): string {
  if (!/^[A-Za-z0-9-]{1,40}$/.test(volumeId)) throw new DriverError('not_found', 'Invalid id of a volume')
  return PREFIX + volumeId
}

/** The device of an instance that is a volume of this pool. */
export function volumeDevice(volumeId: string, pool: string): Device {
  return { type: 'disk', pool, source: volumeName(volumeId), path: volumeFolder(volumeId) }
}

/** The devices of an instance that are volumes. */
export function volumeDevices(devices: Devices | null): Devices {
  return Object.fromEntries(
    Object.entries(devices ?? {}).filter(([name, { type }]) => name.startsWith(PREFIX) && type === 'disk'),
  )
}

/** The ids of the volumes that an instance has. */
export function volumesAmong(devices: Devices | null): string[] {
  return Object.keys(volumeDevices(devices)).map((name) => name.slice(PREFIX.length))
}
