import { resolve } from 'node:path'
import { type Clock, systemClock } from '../../clock.ts'
import { DriverError, type PortRange, type PublicPools } from '../driver.ts'
import type { Log } from '../log.ts'
import { type Examined, examine } from './examine.ts'
import type { Accel } from './host/accel.ts'
import { Cgroups } from './host/cgroup.ts'
import type { ImageStore } from './images/images.ts'
import { Layout } from './layout.ts'
import { GuestNetwork } from './network/guest-network.ts'
import type { NetworkKind } from './passt.ts'
import { QemuDriver } from './qemu.ts'
import { runningCards } from './running.ts'
import { VolumeShelf } from './volume-shelf.ts'

export interface QemuOptions {
  dataDir: string
  images: ImageStore
  accel: 'auto' | Accel
  /** The host's address on which the ports that lead to guests listen (default: 127.0.0.1). */
  address?: string
  /** The ports that may lead to guests, for networks that have to open all of them at once. */
  ports?: PortRange
  /** Returns the current ranges of public addresses (default: none). */
  pools?: () => PublicPools
  /** The kind of network for guests (default: one network for all of them if the host allows it). */
  network?: NetworkKind
  log: Log
  clock?: Clock
}

const NO_POOLS: PublicPools = { ipv4: [], ipv6: [] }

/**
 * @throws DriverError unavailable if machines can't run here, unsafe if they could only run as root; the message says
 *   what to do
 */
export async function openQemu(options: QemuOptions): Promise<QemuDriver> {
  const layout = new Layout(resolve(options.dataDir))
  const {
    ports = { first: 0, last: -1 },
    pools = () => NO_POOLS,
    address = '127.0.0.1',
    log,
    dataDir,
  } = options
  const opened: GuestNetwork[] = []
  try {
    const examined = await examine(options, layout, async () => {
      const running = () => runningCards(layout)
      opened.push(await GuestNetwork.open({ dataDir, address, ports, pools, log, running }))
    })
    const [guests = null] = opened
    return await startDriver({ ...options, address, pools }, layout, examined, guests)
  } catch (error) {
    for (const guests of opened) await guests.close()
    throw error
  }
}

/** Makes the driver, and takes over the machines that run. @throws DriverError unsafe */
async function startDriver(
  options: QemuOptions & { address: string; pools: () => PublicPools },
  layout: Layout,
  { version, choice, network, isolation, ownerObstacle }: Examined,
  guests: GuestNetwork | null,
): Promise<QemuDriver> {
  if (ownerObstacle !== null && process.getuid?.() === 0)
    throw new DriverError(
      'unsafe',
      `Machines would run as root, and so would a guest that breaks out of QEMU: ${ownerObstacle}.`,
    )
  const unwalled = isolation.confinement
  const wallsWarning =
    unwalled && `A guest that breaks out of QEMU sees files and processes of this host: ${unwalled}`
  const driver = new QemuDriver({
    choice,
    version,
    images: options.images,
    layout,
    accel: choice.accel,
    network: network.kind,
    warnings: [network.warning, wallsWarning].filter((warning) => warning !== null),
    guests,
    address: options.address,
    pools: options.pools,
    volumes: new VolumeShelf(layout),
    cgroups: await Cgroups.open(`berth-${layout.hash}`),
    clock: options.clock ?? systemClock,
    log: options.log,
    ownUsers: ownerObstacle === null,
    isWalled: unwalled === null,
  })
  await driver.adopt()
  options.log.info({ accel: choice.accel, reason: choice.reason, qemu: version }, 'Machines run on QEMU')
  return driver
}
