import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Catalog, Zone } from '../catalog/file.ts'
import { poolsOf } from '../catalog/pools.ts'
import { usedPools } from '../catalog/usage.ts'
import type { Clock } from '../clock.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { type Driver, DriverError } from '../drivers/driver.ts'
import { ClosedDriver, Drivers } from '../drivers/drivers.ts'
import type { HostImages, ImageLog } from '../drivers/images.ts'
import type { DriverPlace } from '../drivers/module.ts'
import {
  type DriverName,
  defaultModule,
  hostModules,
  type Module,
  moduleOfPool,
  modules,
  poolsPerZone,
} from '../drivers/modules/modules.ts'
import { namePool, unnamedPool } from '../servers/pools.ts'
import { storeOnPostgres } from './shared-store.ts'

export interface Compute {
  drivers: Drivers
  /** The images of this host; null if no driver here stores images. */
  images: HostImages | null
  /** The reason why servers are simulated although no setting requests it; null: they are not. */
  fallback: string | null
}

/** The images of this host, for the operator's commands. */
export function openImages({ dataDir }: Config, log: ImageLog): HostImages {
  const opened = modules.flatMap((module) => module.openImages?.(dataDir, log) ?? [])
  const [images] = opened
  if (!images) throw new ConfigError('No driver keeps images on this host.')
  return images
}

/** The drivers of existing servers, which zones and settings may no longer name. */
export async function heldDrivers(config: Config, db: Database): Promise<DriverName[]> {
  const pools = [...(await usedPools(db)), (await unnamedModule(config, db))?.name]
  return hostModules.map(({ name }) => name).filter((name) => pools.includes(name))
}

/** Returns the driver of servers in a pool without a name, from early versions; null if there are none. */
async function unnamedModule({ dataDir }: Config, db: Database): Promise<Module | null> {
  const serverIds = await unnamedPool(db)
  return hostModules.find(({ hasMachine }) => hasMachine?.(dataDir, serverIds)) ?? null
}

/** The driver that the settings name; null: the program chooses. */
export function chosenModule({ compute }: Pick<Config, 'compute'>): Module | null {
  return modules.find(({ name }) => name === compute) ?? null
}

/**
 * Some drivers run machines as processes of one host, with its ports, sockets and files: one process of the service
 * alone can serve them, with all roles.
 * @throws ConfigError
 */
export async function requireRole(
  config: Config,
  { held, catalog }: { held: readonly DriverName[]; catalog: Catalog },
): Promise<void> {
  if (config.role === 'all') return
  const used = [
    (chosenModule(config) ?? defaultModule).name,
    ...held,
    ...catalog.zones.map((zone) => zone.driver),
  ]
  const bound = modules.find(({ name, isBoundToProcess }) => isBoundToProcess && used.includes(name))
  if (bound)
    throw new ConfigError(
      `BERTH_ROLE (--role) is "${config.role}": ${bound.title} runs servers on this host alone, for one process with the role all. Set it to all, or set BERTH_COMPUTE=simulator and make sure that no zone and no server has the driver ${bound.name}.`,
    )
}

/** True if this process must serve all machines of a driver by itself. */
export function isAlone({ drivers }: Pick<Compute, 'drivers'>): boolean {
  return drivers.pools.some((pool) => moduleOfPool(pool)?.isBoundToProcess)
}

type Opened = Awaited<ReturnType<Module['open']>>

/** Opens drivers, each once. */
interface Opening {
  config: Config
  catalog: Catalog
  held: readonly DriverName[]
  open(module: Module, zone?: Zone): Promise<Opened>
}

/**
 * Opens the driver that the settings name, and those of zones and existing servers. If a driver of zones or
 * servers does not work here, it is closed, with its zones.
 * @throws ConfigError if the driver of the settings can't be used
 */
export async function openCompute(
  config: Config,
  { db, catalog, clock }: { db: Database; catalog: Catalog; clock: Clock },
  log: Logger,
): Promise<Compute> {
  const shared = config.databaseUrl === null ? null : storeOnPostgres(db)
  const { dataDir, accel, guestHost: address, sshPorts } = config
  const hasOffsite = config.offsite !== null
  const place = { dataDir, accel, address, sshPorts, clock, log, shared, hasOffsite }
  const held = await heldDrivers(config, db)
  const opening: Opening = {
    config,
    catalog,
    held,
    open: (module, zone) => module.open({ ...place, ...zonesOf(catalog, module, zone) }),
  }
  const { module, opened, fallback } = await openDefault(opening)
  const host = { [module.name]: opened, ...(await openOthers(opening, module)) }
  const clusters = await openPerZone(opening, await usedPools(db))
  await namePool(db, ((await unnamedModule(config, db)) ?? module).name)
  const all = { ...host, ...clusters }
  const drivers = Object.fromEntries(Object.entries(all).map(([pool, { driver }]) => [pool, driver]))
  const images = Object.values(all).find((one) => one.images)?.images ?? null
  return { drivers: new Drivers(module.name, drivers, poolsPerZone), images, fallback }
}

/**
 * Returns the zones of a driver in the catalogue in force. A zone that names no driver may use any driver of
 * this host.
 */
function zonesOf(
  catalog: Catalog,
  { name }: Module,
  only?: Zone,
): Pick<DriverPlace<Zone>, 'zones' | 'pools'> {
  const zones = () => (only ? [only] : catalog.zones.filter(({ driver = name }) => driver === name))
  return { zones, pools: () => poolsOf(zones()) }
}

/** Opens the other drivers of this host that zones or servers have. */
async function openOthers({ catalog, held, open }: Opening, first: Module): Promise<Record<string, Opened>> {
  const opened: Record<string, Opened> = {}
  for (const module of hostModules) {
    const isNamed = held.includes(module.name) || catalog.zones.some(({ driver }) => driver === module.name)
    if (module !== first && isNamed) opened[module.name] = await open(module).catch(closed)
  }
  return opened
}

/**
 * Opens a driver for each zone with a driver of its own. Pools of other zones that still have servers are
 * closed.
 */
async function openPerZone(
  { catalog, open }: Opening,
  held: readonly string[],
): Promise<Record<string, Opened>> {
  const opened: Record<string, Opened> = {}
  for (const pool of held) {
    const module = moduleOfPool(pool)
    if (!module?.isPerZone) continue
    const zone = pool.slice(module.name.length + 1)
    const why = `The zone ${zone} has servers on ${module.title}: put driver: ${module.name} back in the catalogue.`
    opened[pool] = { driver: new ClosedDriver(why), images: null }
  }
  const opening = catalog.zones.flatMap((zone) => {
    const module = modules.find(({ name, isPerZone }) => isPerZone && name === zone.driver)
    const pool = `${module?.name}-${zone.zone_slug}`
    return module
      ? [
          open(module, zone)
            .catch(closed)
            .then((one) => [pool, one] as const),
        ]
      : []
  })
  return { ...opened, ...Object.fromEntries(await Promise.all(opening)) }
}

/** @throws ConfigError */
async function openDefault(
  opening: Opening,
): Promise<{ module: Module; opened: Opened; fallback: string | null }> {
  const { config, held, open } = opening
  const module = chosenModule(config) ?? defaultModule
  try {
    return { module, opened: await open(module), fallback: null }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    const isMeant = config.compute !== 'auto' || config.accel !== 'auto' || config.isPublic
    const simulated = hostModules.find(({ isReal }) => !isReal)
    // If servers were meant to be real, simulating them would only hide the fault.
    if (isMeant || error.code === 'unsafe' || !simulated)
      throw new ConfigError(`BERTH_COMPUTE (--compute): ${module.title} can't be used. ${error.message}`)
    if (held.includes(module.name))
      throw new ConfigError(
        `This installation has servers on ${module.title}, which can't be used. ${error.message} Or set BERTH_COMPUTE=${simulated.name}: these servers are then left as they are, but unreachable, and new ones are simulated.`,
      )
    return { module: simulated, opened: await open(simulated), fallback: error.message }
  }
}

function closed(error: unknown): Opened {
  if (!(error instanceof DriverError)) throw error
  const driver: Driver = new ClosedDriver(error.message)
  return { driver, images: null }
}
