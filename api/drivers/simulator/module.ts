import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { writeDurably } from '../../files.ts'
import { ownAddresses } from '../addresses.ts'
import { type DiskImageFields, diskImages } from '../disk-images.ts'
import type { DriverModule } from '../module.ts'
import { volumeDevice } from '../volumes.ts'
import { copyId, machinesIn } from './machine.ts'
import { volumesIn, volumesOf } from './volumes.ts'

/** Delays of simulated servers: long enough to see an operation go by, short enough not to wait. */
const DELAYS = { imageMs: 2_000, copyMs: 3_000, bootMs: 3_000, shutdownMs: 1_500 }

/** Servers that exist in memory only, to try Berth out and to build clients. */
export const simulator: DriverModule<'simulator', Record<never, never>, DiskImageFields> = {
  name: 'simulator',
  title: 'the simulator',
  kind: 'virtual_machine',
  isReal: false,
  isPerZone: false,
  isBoundToProcess: false,
  image: diskImages,
  zoneFields: {},
  zoneFaults: () => [],
  features: () => [],
  listensAt: () => null,
  addresses: (_, number) => ownAddresses(number),
  volumePath: volumeDevice,
  open: async ({ dataDir, clock, shared }) => {
    const { Simulator } = await import('./simulator.ts')
    const place = shared
      ? { shared: machinesIn(shared), volumes: volumesIn(shared) }
      : { storage: fileIn(dataDir), volumes: volumesOf(fileIn(dataDir, 'simulated-volumes.json')) }
    return { driver: new Simulator({ clock, ...DELAYS, ...place }), images: null }
  },
  examine: async ({ isChosen, isHeld, obstacle }) => {
    const wall = {
      name: 'real servers',
      stops: 'customers pay for servers that do not exist',
      mend: 'Install QEMU, set BERTH_COMPUTE=qemu, remove "driver: simulator" from the catalogue, and delete simulated servers.',
    }
    const used = isHeld ? 'a zone, or an existing server, uses the driver simulator' : obstacle
    const gap = isChosen ? 'BERTH_COMPUTE is "simulator"' : used
    return { walls: [{ ...wall, gap }], warning: null, obstacle: null }
  },
  hasMachine: (dataDir, serverIds) => {
    const machines = fileIn(dataDir).load() ?? ''
    return serverIds.some((id) => machines.includes(id))
  },
  stock: async (dataDir) => {
    const idsIn = (text: string | null) => (JSON.parse(text ?? '[]') as [string, unknown][]).map(([id]) => id) // a Map
    const prefix = copyId('')
    const all = idsIn(fileIn(dataDir).load())
    const copies = all.filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length))
    const machines = all.filter((id) => !id.startsWith(prefix))
    return {
      machines: new Map(machines.map((id) => [id, true])),
      snapshots: new Map(copies.map((id) => [id, true])),
      volumes: new Set(idsIn(fileIn(dataDir, 'simulated-volumes.json').load())),
    }
  },
}

/** Simulated machines outlive the process in a file, as real ones outlive it as processes. */
function fileIn(dataDir: string, name = 'simulator.json') {
  const file = path.join(dataDir, name)
  return {
    load: () => (existsSync(file) ? readFileSync(file, 'utf8') : null),
    save: (text: string) => writeDurably(file, text),
  }
}
