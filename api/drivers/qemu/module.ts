import { existsSync } from 'node:fs'
import path from 'node:path'
import { ownAddresses } from '../addresses.ts'
import { type DiskImageFields, diskImages } from '../disk-images.ts'
import type { DriverModule } from '../module.ts'
import { volumeDevice } from '../volumes.ts'
import { LocalImages } from './images/store.ts'

/** Virtual machines: a QEMU process each, on this host. */
export const qemu: DriverModule<'qemu', Record<never, never>, DiskImageFields> = {
  name: 'qemu',
  title: 'QEMU',
  kind: 'virtual_machine',
  isReal: true,
  isPerZone: false,
  isBoundToProcess: true,
  image: diskImages,
  zoneFields: {},
  zoneFaults: () => [],
  features: () => [],
  listensAt: () => null,
  volumePath: volumeDevice,
  addresses: (_, number) => ownAddresses(number),
  open: async ({ dataDir, accel, address, sshPorts: ports, pools, log }) => {
    const tell = (line: string, level: 'info' | 'warn' = 'info') => log[level]({}, line)
    const images = new LocalImages({ dataDir, log: tell })
    // Loaded when it is needed: a catalogue is read without it.
    const { openQemu } = await import('./open.ts')
    return { driver: await openQemu({ dataDir, images, accel, address, ports, pools, log }), images }
  },
  examine: async (use) => (await import('./walls.ts')).examineWalls(use),
  openImages: (dataDir, log) => new LocalImages({ dataDir, log }),
  hasMachine: (dataDir, serverIds) => serverIds.some((id) => existsSync(path.join(dataDir, 'vms', id))),
  stock: async (dataDir) => (await import('./stock.ts')).stockOf(dataDir),
  archive: async (...what) => (await import('./archive.ts')).archive(...what),
}
