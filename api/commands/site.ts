import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Config } from '../config.ts'
import { writeWholeSync } from '../files.ts'
import { isServed } from './installation.ts'
import { publicUrl } from './public-name.ts'

type Folder = Pick<Config, 'dataDir' | 'databaseUrl'>

const fileIn = ({ dataDir }: Folder) => path.join(dataDir, 'site')

/**
 * Leaves in the data folder where the service that holds it is found, for commands beside it: their settings may be
 * others. On PostgreSQL several services have an address each, and a name in the settings of all.
 */
export function recordSite(config: Config, address: string): void {
  if (config.databaseUrl === null)
    writeWholeSync(fileIn(config), new URL(publicUrl(config) ?? address).origin)
}

/** Where people open the console: of the service that runs, else by these settings. */
export async function siteOf(config: Config): Promise<{ site: string; isOfService: boolean }> {
  const recorded = await recordedSite(config)
  const site = new URL(recorded ?? publicUrl(config) ?? `http://${config.host}:${config.port}`).origin
  return { site, isOfService: recorded !== null }
}

/** A record that a stopped service left does not count. */
async function recordedSite(config: Folder): Promise<string | null> {
  if (config.databaseUrl !== null || !(await isServed(config))) return null
  try {
    return readFileSync(fileIn(config), 'utf8')
  } catch {
    return null // one of an earlier version runs, or it is still starting
  }
}
