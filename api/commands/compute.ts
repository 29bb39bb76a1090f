import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Catalog } from '../catalog/file.ts'
import { systemClock } from '../clock.ts'
import { type Config, ConfigError } from '../config.ts'
import { type Driver, DriverError } from '../drivers/driver.ts'
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
  driver: Driver
  /** Null on the simulator. */
  images: ImageStore | null
  /** Why real machines are not run though nobody asked for the simulator. */
  fallback: string | null
}

/** @throws ConfigError where what was asked for can't be had */
export async function openCompute(config: Config, log: Logger): Promise<Compute> {
  if (config.compute === 'simulator') return { driver: openSimulator(config), images: null, fallback: null }
  const images = openImages(config, (line, level = 'info') => log[level](line))
  try {
    const driver = await openQemu({
      dataDir: config.dataDir,
      images,
      accel: config.accel,
      address: config.host,
      log,
    })
    return { driver, images, fallback: null }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    if (config.compute === 'qemu' || config.accel !== 'auto')
      throw new ConfigError(`BERTH_COMPUTE (--compute): QEMU can't be used. ${error.message}`)
    return { driver: openSimulator(config), images: null, fallback: error.message }
  }
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

/** The templates whose images are built from the distribution's packages rather than fetched. */
export function builtTemplates(catalog: Catalog) {
  return catalog.templates.filter((template) => template.image.sources[0]?.type === 'build')
}
