import { readFileSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import { Semaphore } from '../concurrency.ts'
import type { HostImages } from '../drivers/images.ts'
import { imageFormats } from '../drivers/modules/modules.ts'
import { writeWholeSync } from '../files.ts'
import { Loop } from '../loop.ts'
import { messageOf } from '../message-of.ts'
import { breaches, type Held, type Ordered } from './append-only.ts'
import { largeChanges } from './changes.ts'
import {
  type Catalog,
  CatalogError,
  imagesOf,
  parseCatalog,
  readCatalog,
  readCatalogText,
  withAbsolutePaths,
} from './file.ts'
import { type Replacement, replaceCatalog } from './replacing.ts'

const LOOK_EVERY_MS = 2_000

/** A catalogue that can be replaced while the service runs: every holder reads the catalogue in force. */
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
  get isos() {
    return this.#current.isos
  }
  get prices() {
    return this.#current.prices
  }
  get operator() {
    return this.#current.operator
  }
  get limitSteps() {
    return this.#current.limitSteps
  }
}

/** The place of a catalogue, and the data that it is checked against. */
export interface CatalogPlace {
  file: string
  /** The file with a copy of the last accepted catalogue. */
  lastGood: string
  images: Pick<HostImages, 'ready'>
  /** Returns the entries that servers use, which may not disappear. */
  ordered: () => Promise<readonly Ordered[]>
  /** The public addresses and volumes that accounts have. */
  held: () => Promise<readonly Held[]>
}

/** The catalogue in force. */
export interface InForce {
  catalog: Catalog
  /** The file's fault, if there is one: the last good catalogue is then in force. */
  fault: string | null
}

/** The text of the catalogue in force, checks of others, and its file. */
export interface CatalogSource {
  readonly inForce: TextInForce
  /**
   * Compares a text with the catalogue in force, as a change of the file would be. Sources that differ from
   * those in force are not checked on this host.
   */
  check(text: string, now: number): Promise<Checked>
  /** Applies a change of the file at once; `inForce` has its mistakes. */
  refresh(now: number): Promise<void>
  /**
   * Writes a text to the file, which takes effect when the file is next read.
   * @throws FileChanged; Error of the system
   */
  write(change: Replacement): Promise<void>
}

export interface TextInForce {
  text: string
  /** The time since which it is in force, in milliseconds. */
  since: number
  /** The mistakes of the file that was refused since; empty if the file is in force. */
  faults: string[]
}

export interface Checked {
  /** The catalogue as it is written, also if it is refused; null if it can't be read. */
  parsed: Catalog | null
  faults: string[]
  /** The templates and ISOs with sources that differ from those in force. */
  sources: string[]
}

/** The catalogue of a file that is watched. */
export interface OpenCatalog extends InForce, CatalogSource {
  catalog: LiveCatalog
  /** The present fault of the file; null: it is in force. */
  readonly fault: string | null
  /**
   * Applies a change of the file, unless it has mistakes.
   * @returns null if nothing has changed
   */
  look(now: number): Promise<{ fault: string | null } | null>
}

/**
 * Reads the catalogue file or, if it has mistakes, the last good one: a typing mistake must not prevent a
 * restart after a crash.
 * @throws CatalogError if there is no good one
 */
export async function readInForce(
  place: CatalogPlace,
  now: number,
): Promise<InForce & { before: Catalog | null; taken: Taken }> {
  const before = lastGoodOf(place)
  const taken = await take(place, before, now)
  const catalog = taken.catalog ?? before
  if (!catalog) throw new CatalogError(taken.fault ?? '')
  return { catalog, fault: taken.fault, before, taken }
}

/**
 * Reads the catalogue as `readInForce` does, keeps a copy of a good one, and can check for changes.
 * @throws CatalogError if there is no good one
 */
export async function openCatalog(place: CatalogPlace, now: number): Promise<OpenCatalog> {
  const first = await readInForce(place, now)
  const catalog = new LiveCatalog(first.catalog)
  let seen = first.taken
  keep(place, seen)
  let good = {
    text: (seen.catalog && seen.text) ?? textOf(place.lastGood) ?? '',
    since: keptSince(place) ?? now,
  }
  // A change that `look` has not reported yet.
  let untold: { fault: string | null } | null = null
  const turns = new Semaphore(1)
  const turn = async (at: number) => {
    // A fault may be fixed elsewhere: a missing image is added, or a server is deleted.
    if (seen.fault === null && textOf(place.file) === seen.text) return
    const next = await take(place, catalog, at)
    const hasNews = next.text !== seen.text || next.fault !== seen.fault
    seen = next
    if (hasNews) keep(place, next)
    if (next.catalog) {
      catalog.replace(next.catalog)
      if (next.text !== null && next.text !== good.text) good = { text: next.text, since: at }
    }
    if (hasNews) untold = { fault: next.fault }
  }
  return {
    catalog,
    get fault() {
      return seen.fault
    },
    get inForce() {
      return { ...good, faults: seen.fault === null ? [] : faultsIn(place, seen.fault) }
    },
    check: (text, at) => checkText(place, { catalog, text }, at),
    refresh: (at) => turns.run(() => turn(at)),
    write: (change) => replaceCatalog(place.file, change),
    look: async (at) => {
      await turns.run(() => turn(at))
      const told = untold
      untold = null
      return told
    },
  }
}

/** Watches the file until the returned loop is stopped, and reports the result of each change. */
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
    // The file is polled: editors save by renaming, and file systems of containers and networks send no events.
    pauseMs: () => LOOK_EVERY_MS,
  })
  loop.start({ isPauseFirst: true })
  return loop
}

interface Taken {
  text: string | null
  /** The catalogue as it is written, also if it is refused; null if it can't be read. */
  parsed: Catalog | null
  /** Null if the file has mistakes, which are in `fault`. */
  catalog: Catalog | null
  fault: string | null
}

/** Reads the file once, and checks it against existing servers. Mistakes are returned, never thrown. */
async function take(place: CatalogPlace, before: Catalog | null, now: number): Promise<Taken> {
  const { file } = place
  const text = textOf(file)
  let catalog: Catalog
  try {
    catalog = parseCatalog(text ?? readCatalogText(file), file, now)
  } catch (error) {
    return { text, parsed: null, catalog: null, fault: messageOf(error) }
  }
  const faults = [
    ...(await missingImages(imagesOf(catalog), place.images)),
    ...(await forbidden(place, before, catalog, now)),
  ]
  if (faults.length === 0) return { text, parsed: catalog, catalog, fault: null }
  const fault = faults.map((each) => `${file}: ${each}`).join('\n')
  return { text, parsed: catalog, catalog: null, fault }
}

/**
 * Checks a text that does not come from this host. It must not tell its sender which files the host has, so only
 * sources that are in force are looked for.
 */
export async function checkText(
  place: CatalogPlace,
  { catalog, text }: { catalog: Catalog; text: string },
  now: number,
): Promise<Checked> {
  let parsed: Catalog
  try {
    parsed = parseCatalog(text, place.file, now)
  } catch (error) {
    return { parsed: null, faults: faultsIn(place, messageOf(error)), sources: [] }
  }
  const known = new Map(imagesOf(catalog).map(({ slug, image }) => [slug, JSON.stringify(image)]))
  const isKnown = ({ slug, image }: Pictured) => known.get(slug) === JSON.stringify(image)
  const pictured = imagesOf(parsed)
  const faults = [
    ...(await missingImages(pictured.filter(isKnown), place.images)),
    ...(await forbidden(place, catalog, parsed, now)),
  ]
  return { parsed, faults, sources: pictured.filter((one) => !isKnown(one)).map(({ slug }) => slug) }
}

/** The lines of a fault without the quoted text below a mistake in the YAML, which may have a part of a secret. */
function faultsIn({ file }: CatalogPlace, fault: string): string[] {
  const [message = ''] = fault.split('\n\n')
  return message.replaceAll(file, path.basename(file)).split('\n')
}

/** Lists changes that existing servers, or a slip in a price, forbid. */
async function forbidden(place: CatalogPlace, before: Catalog | null, after: Catalog, now: number) {
  const ordered = await place.ordered()
  return [
    ...(before ? breaches(before, after, ordered, await place.held(), now) : []),
    ...largeChanges(before, after, ordered),
  ]
}

type Pictured = ReturnType<typeof imagesOf>[number]

/** Finds image files that are missing. A file may be removed once its image has been prepared. */
async function missingImages(
  pictured: readonly Pictured[],
  images: CatalogPlace['images'],
): Promise<string[]> {
  const found = await Promise.all(
    pictured.map(async ({ slug, image }) => {
      const missing: string[] = []
      for (const file of imageFormats.flatMap((format) => format.files(image)))
        if (!(await stat(file).catch(() => null))?.isFile())
          missing.push(
            `${image.isIso ? 'ISO' : 'template'} ${slug}: no such image file, or no access: ${file}.`,
          )
      return missing.length === 0 || (await images.ready(image)) ? [] : missing
    }),
  )
  return found.flat()
}

/** Returns the last good catalogue; null if there is none, or only a copy by another version of the program. */
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
    const copy = withAbsolutePaths(text, path.dirname(file))
    // The copy's time says since when it is in force, also after a restart.
    if (copy !== textOf(lastGood)) writeWholeSync(lastGood, copy)
  } catch {
    // The change takes effect anyway. Only a start after a later mistake would miss the copy.
  }
}

/** The time in milliseconds at which the catalogue was accepted; null if there is no copy of it. */
function keptSince({ lastGood }: CatalogPlace): number | null {
  try {
    return Math.floor(statSync(lastGood).mtimeMs)
  } catch {
    return null
  }
}

/** Returns the file's text; null if it can't be read, for a reason that readCatalogText reports. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
