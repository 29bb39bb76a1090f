import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { heldAddresses } from '../addresses/queries.ts'
import { counted, differences } from '../catalog/changes.ts'
import { CatalogError, withAbsolutePaths } from '../catalog/file.ts'
import { type CatalogPlace, readInForce } from '../catalog/live.ts'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { openSqlite } from '../database/sqlite.ts'
import { writeWholeSync } from '../files.ts'
import { isosInDrives, orderedServers, payersOf } from '../servers/queries.ts'
import { systemsOfCopies } from '../snapshots/queries.ts'
import { zonesWithVolumes } from '../volumes/queries.ts'
import { openImages } from './compute.ts'
import { openDataDir, refuseMoved, requireInstallation } from './installation.ts'

/** The sample that comes with the program: a first catalogue, never the installation's own. */
const SAMPLE = fileURLToPath(new URL('../../catalog.yaml', import.meta.url))

/** The file with a copy of the catalogue that the service accepted last. */
export function lastGoodCatalog({ dataDir }: Pick<Config, 'dataDir'>): string {
  return path.join(dataDir, 'catalog.last-good.yaml')
}

/**
 * Creates the installation's own catalogue if it has none yet, from the sample. An installation that used the
 * sample itself gets the catalogue that was last in force.
 * @returns true if it took over an earlier one
 */
export function placeCatalog(config: Config): boolean {
  const file = catalogFileOf(config)
  if (file === config.catalogFile) return false
  openDataDir(config)
  const text = readFileSync(file, 'utf8')
  writeWholeSync(config.catalogFile, withAbsolutePaths(text, path.dirname(SAMPLE)))
  return file !== SAMPLE
}

/** The file to read the catalogue from; before the first start, it is not the installation's own. */
export function catalogFileOf(config: Config): string {
  const own = path.join(config.dataDir, 'catalog.yaml')
  if (config.catalogFile !== own || existsSync(own)) return config.catalogFile
  const lastGood = lastGoodCatalog(config)
  return existsSync(lastGood) ? lastGood : SAMPLE
}

/** @param db the service's database (default: one that is opened for reading only) */
export function catalogPlace(config: Config, db?: Database): CatalogPlace {
  const images = openImages(config, () => {})
  const look =
    <Rows>(query: (db: Database) => Promise<readonly Rows[]>) =>
    () =>
      db ? query(db) : lookInto(config, query)
  return {
    file: catalogFileOf(config),
    lastGood: lastGoodCatalog(config),
    images,
    ordered: look((db) => orderedServers(db).execute()),
    // The database of an earlier version may lack the table of addresses.
    held: () =>
      look(async (db) => [
        ...(await heldAddresses(db).execute()),
        ...(await zonesWithVolumes(db).execute()).map((zone) => ({ ...zone, address: null })),
        ...(await systemsOfCopies(db).execute()).map((system) => ({ ...system, address: null })),
        ...(await isosInDrives(db).execute()).map((drive) => ({ ...drive, address: null })),
      ])().catch((error) => (db ? Promise.reject(error) : [])),
  }
}

/** The catalogue that commands use. @throws CatalogError if there is no good catalogue */
export function catalogInForce(config: Config): ReturnType<typeof readInForce> {
  return readInForce(catalogPlace(config), clock.now())
}

/** Reads a database that may be of another version, and in use. */
async function lookInto<Rows>(
  { dataDir, databaseUrl }: Config,
  query: (db: Database) => Promise<readonly Rows[]>,
): Promise<readonly Rows[]> {
  if (databaseUrl !== null) return (await import('./on-postgres.ts')).lookOnPostgres(databaseUrl, query)
  const file = path.join(dataDir, 'berth.db')
  if (!existsSync(file)) return []
  const db = openSqlite(file)
  try {
    await refuseMoved(db, file)
    return await query(db)
  } finally {
    await db.destroy()
  }
}

export function catalogCommands(config: () => Config): Command {
  const catalog = new Command('catalog').description('manage the catalogue')
  catalog
    .command('check')
    .description('validate the catalogue file, and compare it with the one in force')
    .action(async () => {
      const parsed = config()
      // A catalogue elsewhere may be checked before the first start; the sample says nothing about an installation.
      if (catalogFileOf(parsed) === SAMPLE) requireInstallation(parsed)
      const { catalog, fault, before, taken } = await catalogInForce(parsed)
      if (before && taken.parsed) {
        const payers = await lookInto(parsed, (db) => payersOf(db).execute())
        const lines = differences(before, taken.parsed, payers)
        console.log(lines.length > 0 ? lines.join('\n') : 'It is the catalogue in force.')
      }
      if (fault) throw new CatalogError(fault)
      const { zones, templates, presets } = catalog
      console.log(
        `${catalogFileOf(parsed)} is valid: ${counted(zones.length, 'zone')}, ${counted(templates.length, 'template')}, ${counted(presets.length, 'preset')}.`,
      )
    })
  return catalog
}
