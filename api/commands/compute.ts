import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyBaseLogger as Logger } from 'fastify'
import { systemClock } from '../clock.ts'
import { type Config, ConfigError } from '../config.ts'
import { type Driver, DriverError, type DriverName } from '../drivers/driver.ts'
import { ClosedDriver, Drivers } from '../drivers/drivers.ts'
import type { ImageStore } from '../drivers/images/images.ts'
import { type ImageLog, LocalImages } from '../drivers/images/store.ts'
import { openQemu } from '../drivers/qemu/qemu.ts'
import { Simulator } from '../drivers/simulator.ts'
import { writeWholeSync } from '../files.ts'

/** Delays of a simulated installation: long enough to see an operation go by, short enough not to wait. */
const SIMULATED = { imageMs: 2_000, bootMs: 3_000, shutdownMs: 1_500 }

/** The images of this installation, for the driver and for the operator's commands. */
export function openImages(config: Config, log: ImageLog): ImageStore {
  return new LocalImages({ dataDir: config.dataDir, baseDir: path.dirname(config.catalogFile), log })
}

export interface Compute {
  drivers: Drivers
  /** The images of this host; null where no machine is real. */
  images: ImageStore | null
  /** Why real machines are not run by default though nobody asked for the simulator. */
  fallback: string | null
}

type Open = Record<DriverName, () => Promise<Driver>>

/**
 * Opens the driver that the settings name, and others beside it. One of these that does not work here is closed, and
 * its zones with it.
 * @throws ConfigError where what the settings ask for can't be had
 */
export async function openCompute(
  config: Config,
  others: readonly DriverName[],
  log: Logger,
): Promise<Compute> {
  const images = openImages(config, (line, level = 'info') => log[level](line))
  const { dataDir, accel, guestHost: address } = config
  const open: Open = {
    qemu: () => openQemu({ dataDir, images, accel, address, log }),
    simulator: async () => openSimulator(config),
  }
  const { name, driver, fallback } = await openDefault(config, open)
  const drivers: Partial<Record<DriverName, Driver>> = { [name]: driver }
  for (const other of others) drivers[other] ??= await open[other]().catch(closed)
  const isReal = drivers.qemu && !(drivers.qemu instanceof ClosedDriver)
  return { drivers: new Drivers(name, drivers), images: isReal ? images : null, fallback }
}

/** @throws ConfigError */
async function openDefault(
  config: Config,
  open: Open,
): Promise<{ name: DriverName; driver: Driver; fallback: string | null }> {
  if (config.compute === 'simulator')
    return { name: 'simulator', driver: await open.simulator(), fallback: null }
  try {
    return { name: 'qemu', driver: await open.qemu(), fallback: null }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    if (config.compute === 'qemu' || config.accel !== 'auto')
      throw new ConfigError(`BERTH_COMPUTE (--compute): QEMU can't be used. ${error.message}`)
    return { name: 'simulator', driver: await open.simulator(), fallback: error.message }
  }
}

function closed(error: unknown): Driver {
  if (!(error instanceof DriverError)) throw error
  return new ClosedDriver(error.message)
}

/** Simulated machines outlive the process in a file, as real ones outlive it as processes. */
function openSimulator(config: Config): Simulator {
  const file = path.join(config.dataDir, 'simulator.json')
  const storage = {
    load: () => (existsSync(file) ? readFileSync(file, 'utf8') : null),
    save: (machines: string) => writeWholeSync(file, machines),
  }
  return new Simulator({ clock: systemClock, ...SIMULATED, storage })
}
