import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyBaseLogger as Logger } from 'fastify'
import { usedPools } from '../catalog/capacity.ts'
import type { Catalog } from '../catalog/file.ts'
import { incusZone } from '../catalog/incus.ts'
import { poolsOf } from '../catalog/pools.ts'
import type { Clock } from '../clock.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { type Driver, DriverError, type DriverName, driverNames } from '../drivers/driver.ts'
import { ClosedDriver, Drivers, INCUS_POOL } from '../drivers/drivers.ts'
import { openIncus } from '../drivers/incus/open.ts'
import type { ImageStore } from '../drivers/qemu/images/images.ts'
import { type ImageLog, LocalImages } from '../drivers/qemu/images/store.ts'
import { openQemu } from '../drivers/qemu/qemu.ts'
import { Simulator } from '../drivers/simulator/simulator.ts'
import { writeDurably } from '../files.ts'
import { namePool, unnamedPool } from '../servers/pools.ts'
import { sharedMachines } from './simulated-machines.ts'

/** Delays of a simulated installation: long enough to see an operation go by, short enough not to wait. */
const SIMULATED = { imageMs: 2_000, bootMs: 3_000, shutdownMs: 1_500 }

/** The images of this installation, for the driver and for the operator's commands. */
export function openImages(config: Config, log: ImageLog): ImageStore {
  return new LocalImages({ dataDir: config.dataDir, log })
}

export interface Compute {
  drivers: Drivers
  /** The images of this host; null where no machine is real. */
  images: ImageStore | null
  /** Why real machines are not run by default though nobody asked for the simulator. */
  fallback: string | null
}

/** The drivers of servers that are there, whatever zones and settings name since. */
export async function heldDrivers(config: Config, db: Database): Promise<DriverName[]> {
  const pools = [...(await usedPools(db)), traceOf(config, await unnamedPool(db))]
  return driverNames.filter((name) => pools.includes(name))
}

/** Where pools had no names yet: which driver these servers' machines are of. Null where none has them. */
function traceOf({ dataDir }: Config, serverIds: readonly string[]): DriverName | null {
  if (serverIds.some((id) => existsSync(path.join(dataDir, 'vms', id)))) return 'qemu'
  const simulated = fileOfSimulator(dataDir).load() ?? ''
  return serverIds.some((id) => simulated.includes(id)) ? 'simulator' : null
}

/** Those that an installation has one of, on its own machine. */
type LocalName = Exclude<DriverName, 'incus'>
type Open = Record<LocalName, () => Promise<Driver>>

/**
 * What a role asks of drivers: the machines of QEMU are processes of one host, with its ports, sockets and files, so one
 * process alone serves them, with all that there is to do.
 * @throws ConfigError
 */
export async function requireRole(
  { role, compute }: Config,
  { held, catalog }: { held: readonly DriverName[]; catalog: Catalog },
): Promise<void> {
  if (role === 'all') return
  const isQemu =
    compute !== 'simulator' || held.includes('qemu') || catalog.zones.some(({ driver }) => driver === 'qemu')
  if (isQemu)
    throw new ConfigError(
      `BERTH_ROLE (--role) is "${role}": QEMU runs servers on this host alone, for one process with the role all. Set it to all, or BERTH_COMPUTE=simulator where no zone and no server has the driver qemu.`,
    )
}

/**
 * Opens the driver that the settings name, and beside it those of zones and of servers that are there. One of these
 * that does not work here is closed, and its zones with it.
 * @throws ConfigError where what the settings ask for can't be had
 */
export async function openCompute(
  config: Config,
  { db, catalog, clock }: { db: Database; catalog: Catalog; clock: Clock },
  log: Logger,
): Promise<Compute> {
  const held = await heldDrivers(config, db)
  const images = openImages(config, (line, level = 'info') => log[level](line))
  const { dataDir, accel, guestHost: address, sshPorts: ports } = config
  const pools = () => poolsOf(catalog.zones.filter(({ driver = 'qemu' }) => driver === 'qemu'))
  const open: Open = {
    qemu: () => openQemu({ dataDir, images, accel, address, ports, pools, log }),
    simulator: async () => openSimulator(config, db, clock),
  }
  const { name, driver, fallback } = await openDefault(config, open, held)
  const drivers: Record<string, Driver> = { [name]: driver }
  for (const other of ['qemu', 'simulator'] as const)
    if (other !== name && (held.includes(other) || catalog.zones.some((zone) => zone.driver === other)))
      drivers[other] = await open[other]().catch(closed)
  Object.assign(drivers, await openClusters(config, catalog, await usedPools(db), log))
  await namePool(db, traceOf(config, await unnamedPool(db)) ?? name)
  const isReal = drivers.qemu && !(drivers.qemu instanceof ClosedDriver)
  return { drivers: new Drivers(name, drivers), images: isReal ? images : null, fallback }
}

/** A driver for each zone on Incus. Zones that are so no more, but have servers, are closed. */
async function openClusters(
  { guestHost: address }: Config,
  { zones }: Catalog,
  held: readonly string[],
  log: Logger,
): Promise<Record<string, Driver>> {
  const drivers: Record<string, Driver> = {}
  for (const pool of held.filter((name) => name.startsWith(INCUS_POOL)))
    drivers[pool] = new ClosedDriver(
      `The zone ${pool.slice(INCUS_POOL.length)} has servers on Incus: put driver: incus back in the catalogue.`,
    )
  const opened = zones.flatMap(({ driver, zone_slug, incus }) => {
    if (driver !== 'incus' || !incus) return []
    const zone = incusZone(incus)
    return openIncus({ zone, address, log })
      .catch(closed)
      .then((open) => [`${INCUS_POOL}${zone_slug}`, open] as const)
  })
  return { ...drivers, ...Object.fromEntries(await Promise.all(opened)) }
}

/** @throws ConfigError */
async function openDefault(
  config: Config,
  open: Open,
  held: readonly DriverName[],
): Promise<{ name: LocalName; driver: Driver; fallback: string | null }> {
  if (config.compute === 'simulator')
    return { name: 'simulator', driver: await open.simulator(), fallback: null }
  try {
    return { name: 'qemu', driver: await open.qemu(), fallback: null }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    const isChosen = config.compute === 'qemu' || config.accel !== 'auto' || config.isPublic
    // Where machines were meant to be real, the simulator in their place would only hide it.
    if (isChosen || error.code === 'unsafe')
      throw new ConfigError(`BERTH_COMPUTE (--compute): QEMU can't be used. ${error.message}`)
    if (held.includes('qemu'))
      throw new ConfigError(
        `This installation has servers on QEMU, which can't be used. ${error.message} Or set BERTH_COMPUTE=simulator: these servers are then left as they are, out of reach, and new ones are simulated.`,
      )
    return { name: 'simulator', driver: await open.simulator(), fallback: error.message }
  }
}

function closed(error: unknown): Driver {
  if (!(error instanceof DriverError)) throw error
  return new ClosedDriver(error.message)
}

/** Simulated machines outlive the process in a file, as real ones outlive it as processes. */
function fileOfSimulator(dataDir: string) {
  const file = path.join(dataDir, 'simulator.json')
  return {
    load: () => (existsSync(file) ? readFileSync(file, 'utf8') : null),
    save: (machines: string) => writeDurably(file, machines),
  }
}

/** On PostgreSQL several processes share its machines. */
function openSimulator({ dataDir, databaseUrl }: Config, db: Database, clock: Clock): Simulator {
  const place = databaseUrl === null ? { storage: fileOfSimulator(dataDir) } : { shared: sharedMachines(db) }
  return new Simulator({ clock, ...SIMULATED, ...place })
}
