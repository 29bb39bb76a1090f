import { hash } from 'node:crypto'
import { differences } from '../catalog/changes.ts'
import type { Catalog } from '../catalog/file.ts'
import type { CatalogSource } from '../catalog/live.ts'
import { maskSecrets, unmask } from '../catalog/masking.ts'
import { protectedChanges } from '../catalog/protected.ts'
import { FileChanged, type Replacement } from '../catalog/replacing.ts'
import { sizeFault } from '../catalog/yaml.ts'
import type { Clock } from '../clock.ts'
import { type Database, lockName, type Queries } from '../database/database.ts'
import { errorCode } from '../files.ts'
import { ApiError, invalid } from '../http/contract/problem.ts'
import type { Peers } from '../processes/peers.ts'
import { payersOf } from '../servers/queries.ts'
import { operatorProblems } from './schema.ts'

/** A catalogue with more faults than this usually repeats the same one in each line. */
export const MAX_LINES = 200

export interface OperatorCatalogOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  peers: Peers
  catalogText?: CatalogSource
}

export function sourceOf({ catalogText }: OperatorCatalogOptions): CatalogSource {
  if (!catalogText) throw new Error('this process was started without the text of its catalogue')
  return catalogText
}

/** Returns the text in force and its hash, both without secrets: a hash over secrets would allow guessing them. */
export function shownText(options: OperatorCatalogOptions): { text: string; hash: string } {
  const { paymentUrl, logoUrl, contact, terms } = options.catalog.operator
  const shown = [paymentUrl, logoUrl, contact, terms?.url ?? null]
  const text = maskSecrets(sourceOf(options).inForce.text, shown)
  return { text, hash: hash('sha256', text) }
}

/** Messages may quote the catalogue, and with it an address that has a password. */
export function linesOf(lines: readonly string[]): string[] {
  return lines.slice(0, MAX_LINES).map((line) => maskSecrets(line))
}

/**
 * Writes a text to the catalogue's file, and puts it into force.
 * @param change.hash the hash, as shown, of the text that the change started from
 * @returns the differences from the old text, a line each; none if the text was already in force
 * @throws ApiError validation_failed, catalog_changed, catalog_not_writable
 */
export async function replaceCatalogText(
  options: OperatorCatalogOptions,
  change: { text: string; hash: string },
): Promise<string[]> {
  const { db, clock, catalog } = options
  const tooLarge = sizeFault(change.text)
  if (tooLarge !== null) throw refused([tooLarge])
  const source = sourceOf(options)
  await source.refresh(clock.now())
  const { text: base, faults } = source.inForce
  if (faults.length > 0)
    throw notWritable(`The file has a later version with mistakes, which would be lost: ${faults[0]}`)
  const text = unmask(change.text, base)
  if (text === base) return []
  if (shownText(options).hash !== change.hash) throw changed()
  const checked = await source.check(text, clock.now())
  if (!checked.parsed || checked.faults.length > 0) throw refused(checked.faults)
  const hostOnly = protectedChanges(base, text)
  if (hostOnly.length > 0) throw refused(hostOnly)
  const lines = differences(catalog, checked.parsed, await payersOf(db).execute())
  await write(options, { text, base })
  return linesOf(lines)
}

async function write(options: OperatorCatalogOptions, change: Replacement) {
  const { clock } = options
  const source = sourceOf(options)
  await writeLocked(options, change)
  await source.refresh(clock.now())
  const { text, faults } = source.inForce
  if (text === change.text || faults.length === 0) return
  // A customer has just ordered something that the text lacks. Otherwise, the next start would report the file.
  await writeLocked(options, { text: change.base, base: change.text, isUndo: true })
  await source.refresh(clock.now())
  throw refused(faults)
}

/** Writes the file under a lock: of two processes that write at once, the second finds the text changed. */
async function writeLocked(options: OperatorCatalogOptions, change: Replacement) {
  const { db, peers } = options
  await db.transaction().execute(async (tx) => {
    await lockName(tx, 'catalog')
    await requireOneFile(tx, peers)
    await sourceOf(options)
      .write(change)
      .catch((error: unknown) => {
        if (error instanceof FileChanged) throw changed()
        const code = errorCode(error)
        if (code === undefined) throw error
        throw notWritable(`The service can't replace the file or write beside it (${code}).`)
      })
  })
}

/** Processes with files of their own would keep the old prices. @throws ApiError catalog_not_writable */
async function requireOneFile(tx: Queries, { living }: Peers): Promise<void> {
  if (!living) return
  const files = await tx.selectFrom(living(tx).as('living')).select(['host', 'catalog_file']).execute()
  const places = new Set(files.map(({ host, catalog_file }) => catalog_file && `${host}:${catalog_file}`))
  if (places.size <= 1 && !places.has(null)) return
  const named = [...places].map((place) => place ?? 'a process of an earlier version').sort()
  throw notWritable(`The processes of the service read several files: ${named.join(', ')}.`)
}

function refused(faults: readonly string[]): ApiError {
  const place = { in: 'body', field: 'text', pointer: '/text', code: 'invalid_format' } as const
  return invalid(linesOf(faults).map((message) => ({ ...place, message })))
}

function changed(): ApiError {
  return new ApiError(
    operatorProblems.catalog_changed,
    'The catalogue has changed since you read it. Read it again, and make your change in that text.',
  )
}

function notWritable(reason: string): ApiError {
  const [detail = ''] = linesOf([reason])
  return new ApiError(
    operatorProblems.catalog_not_writable,
    `${detail} Nothing changed: edit the file on the host, and check it with berthd catalog check.`,
  )
}
