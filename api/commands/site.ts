import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Config } from '../config.ts'
import { writeWholeSync } from '../files.ts'
import { isServed } from './installation.ts'
import { publicUrl } from './public-name.ts'

type Folder = Pick<Config, 'dataDir' | 'databaseUrl'>

const fileIn = ({ dataDir }: Folder) => path.join(dataDir, 'site')

/**
 * Writes the address of the service into its data folder for commands, whose settings may differ. On
 * PostgreSQL nothing is written: each service has its own address, and all have the same public name.
 */
export function recordSite(config: Config, address: string): void {
  if (config.databaseUrl === null)
    writeWholeSync(fileIn(config), new URL(publicUrl(config) ?? address).origin)
}

/** Returns the URL of the console: the running service's, otherwise that of these settings. */
export async function siteOf(config: Config): Promise<{ site: string; isOfService: boolean }> {
  const recorded = await recordedSite(config)
  const site = new URL(recorded ?? publicUrl(config) ?? `http://${config.host}:${config.port}`).origin
  return { site, isOfService: recorded !== null }
}

/** Returns the recorded address; null if the service that wrote it has stopped. */
async function recordedSite(config: Folder): Promise<string | null> {
  if (config.databaseUrl !== null || !(await isServed(config))) return null
  try {
    return readFileSync(fileIn(config), 'utf8')
  } catch {
    return null // a service of an earlier version is running, or one is still starting
  }
}
