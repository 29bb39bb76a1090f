import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Clock } from '../clock.ts'
import { type Catalog, CatalogError, readCatalog } from './file.ts'

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

/** The catalogue of a file that is looked at again and again. */
export interface OpenCatalog {
  catalog: LiveCatalog
  /** What is wrong with the file, where something is: then the last good one is in force. */
  fault: string | null
  /**
   * Takes up a change of the file; a bad one changes nothing.
   * @returns null where nothing has changed
   */
  look(now: number): { fault: string | null } | null
}

/**
 * Reads the catalogue file, or, where that is wrong, the last good one: a slip in a file must not keep a service
 * down that a crash or a reboot has ended.
 * @param lastGood where a copy of it is kept
 * @throws CatalogError where there is no good one
 */
export function openCatalog(file: string, lastGood: string, now: number): OpenCatalog {
  let seen = textOf(file)
  const open = (catalog: Catalog, fault: string | null): OpenCatalog => {
    const live = new LiveCatalog(catalog)
    const look = (at: number) => {
      const text = textOf(file)
      if (text === seen) return null
      seen = text
      try {
        live.replace(readGood(file, lastGood, at))
        return { fault: null }
      } catch (error) {
        return { fault: faultOf(error) }
      }
    }
    return { catalog: live, fault, look }
  }
  try {
    return open(readGood(file, lastGood, now), null)
  } catch (error) {
    if (!existsSync(lastGood)) throw error
    return open(readCatalog(lastGood), faultOf(error))
  }
}

/** Looks at the file as long as the service runs, and tells what became of a change. @returns ends it */
export function watchCatalog(
  { look }: OpenCatalog,
  clock: Clock,
  tell: (fault: string | null) => void,
): () => Promise<void> {
  const stopping = new AbortController()
  const run = async () => {
    while (!stopping.signal.aborted) {
      // By polling: editors save by renaming, and file systems of containers and networks send no news.
      await clock.sleep(LOOK_EVERY_MS, stopping.signal)
      const change = look(clock.now())
      if (change) tell(change.fault)
    }
  }
  const loop = run()
  return () => {
    stopping.abort()
    return loop
  }
}

/** @throws what is no mistake in the file */
function faultOf(error: unknown): string {
  if (error instanceof CatalogError) return error.message
  throw error
}

/** Null where it can't be read, for whatever reason: reading it for good says which. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

/** @throws CatalogError */
function readGood(file: string, lastGood: string, now: number): Catalog {
  const catalog = readCatalog(file, now)
  writeFileSync(`${lastGood}.new`, readFileSync(file), { flush: true })
  renameSync(`${lastGood}.new`, lastGood)
  return catalog
}
