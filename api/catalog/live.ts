import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { HostImages } from '../drivers/images.ts'
import { imageFormats } from '../drivers/modules/modules.ts'
import { writeWholeSync } from '../files.ts'
import { Loop } from '../loop.ts'
import { messageOf } from '../message-of.ts'
import { breaches, type Held, type Ordered } from './append-only.ts'
import {
  type Catalog,
  CatalogError,
  parseCatalog,
  readCatalog,
  readCatalogText,
  withAbsolutePaths,
} from './file.ts'

const LOOK_EVERY_MS = 2_000

/** A catalogue that can be replaced while the service runs; everybody who holds it reads the one in force. */
export class LiveCatalog implements Catalog {
  #current: Catalog

  constructor(first: Catalog) {
    this.#current = first
  }

  replace(next: Catalog): void {
    this.#current = next
  }

  get zones() {
    return this.#current.zones
  }
  get limits() {
    return this.#current.limits
  }
  get presets() {
    return this.#current.presets
  }
  get templates() {
    return this.#current.templates
  }
  get prices() {
    return this.#current.prices
  }
}

/** Where a catalogue is, and what it is held against. */
export interface CatalogPlace {
  file: string
  /** Where a copy of what was accepted last is kept. */
  lastGood: string
  images: Pick<HostImages, 'ready'>
  /** Returns the entries that servers use, which may not disappear. */
  ordered: () => Promise<readonly Ordered[]>
  /** The public addresses that accounts have. */
  held: () => Promise<readonly Held[]>
}

/** The catalogue in force. */
export interface InForce {
  catalog: Catalog
  /** The file's fault, if there is one: the last good catalogue is then in force. */
  fault: string | null
}

/** The catalogue of a file that is looked at again and again. */
export interface OpenCatalog extends InForce {
  catalog: LiveCatalog
  /**
   * Takes up a change of the file; a bad one changes nothing.
   * @returns null where nothing has changed
   */
  look(now: number): Promise<{ fault: string | null } | null>
}

/**
 * Reads the catalogue file, or, where that is wrong, the last good one: a slip in a file must not keep a service
 * down that a crash or a reboot has ended.
 * @throws CatalogError where there is no good one
 */
export async function readInForce(place: CatalogPlace, now: number): Promise<InForce & { taken: Taken }> {
  const before = lastGoodOf(place)
  const taken = await take(place, before, now)
  const catalog = taken.catalog ?? before
  if (!catalog) throw new CatalogError(taken.fault ?? '')
  return { catalog, fault: taken.fault, taken }
}

/**
 * Reads it as above, accepts what is good, and can look again.
 * @throws CatalogError where there is no good one
 */
export async function openCatalog(place: CatalogPlace, now: number): Promise<OpenCatalog> {
  const first = await readInForce(place, now)
  const catalog = new LiveCatalog(first.catalog)
  let seen = first.taken
  keep(place, seen)
  const look = async (at: number) => {
    // A fault may be fixed elsewhere: an image is put in its place, or a server is deleted.
    if (seen.fault === null && textOf(place.file) === seen.text) return null
    const next = await take(place, catalog, at)
    const hasNews = next.text !== seen.text || next.fault !== seen.fault
    seen = next
    if (hasNews) keep(place, next)
    if (next.catalog) catalog.replace(next.catalog)
    return hasNews ? { fault: next.fault } : null
  }
  return { catalog, fault: first.fault, look }
}

/** Looks at the file until the loop that it returns is stopped, and reports the result of a change. */
export function watchCatalog(
  { look }: OpenCatalog,
  { clock, log }: { clock: Clock; log: Logger },
  tell: (fault: string | null) => void,
): Loop {
  const loop = new Loop({
    clock,
    log,
    turn: async () => {
      const change = await look(clock.now())
      if (change) tell(change.fault)
    },
    failure: 'the catalogue could not be checked; trying again',
    // By polling: editors save by renaming, and file systems of containers and networks send no news.
    pauseMs: () => LOOK_EVERY_MS,
  })
  loop.start({ isPauseFirst: true })
  return loop
}

interface Taken {
  text: string | null
  /** Null where something is wrong, which `fault` says. */
  catalog: Catalog | null
  fault: string | null
}

/** Reads the file once, and holds it against what is there. Whatever is wrong with it is said, never thrown. */
async function take(place: CatalogPlace, before: Catalog | null, now: number): Promise<Taken> {
  const { file } = place
  const text = textOf(file)
  let catalog: Catalog
  try {
    catalog = parseCatalog(text ?? readCatalogText(file), file, now)
  } catch (error) {
    return { text, catalog: null, fault: messageOf(error) }
  }
  const faults = [
    ...(await missingImages(catalog, place.images)),
    ...(before ? breaches(before, catalog, await place.ordered(), await place.held(), now) : []),
  ]
  if (faults.length === 0) return { text, catalog, fault: null }
  return { text, catalog: null, fault: faults.map((fault) => `${file}: ${fault}`).join('\n') }
}

/** A file can be removed once its image is here. */
async function missingImages({ templates }: Catalog, images: CatalogPlace['images']): Promise<string[]> {
  const found = await Promise.all(
    templates.map(async ({ slug, image }) => {
      const missing: string[] = []
      for (const file of imageFormats.flatMap((format) => format.files(image)))
        if (!(await stat(file).catch(() => null))?.isFile())
          missing.push(`template ${slug}: no such image file, or no access: ${file}.`)
      return missing.length === 0 || (await images.ready(image)) ? [] : missing
    }),
  )
  return found.flat()
}

/** Null where there is none, or one of another version of the program. */
function lastGoodOf({ lastGood }: CatalogPlace): Catalog | null {
  try {
    return readCatalog(lastGood)
  } catch {
    return null
  }
}

function keep({ file, lastGood }: CatalogPlace, { text, catalog }: Taken): void {
  if (text === null || !catalog) return
  try {
    writeWholeSync(lastGood, withAbsolutePaths(text, path.dirname(file)))
  } catch {
    // The change holds all the same. Only a start after a later slip would miss the copy.
  }
}

/** Null where it can't be read, for whatever reason: reading it for good says which. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
