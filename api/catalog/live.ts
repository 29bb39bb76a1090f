import { existsSync, readFileSync } from 'node:fs'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import { writeWholeSync } from '../files.ts'
import { Loop } from '../loop.ts'
import { messageOf } from '../message-of.ts'
import { type Catalog, CatalogError, parseCatalog, readCatalog, readCatalogText } from './file.ts'

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
  const first = take(file, lastGood, now)
  if (!first.catalog && !existsSync(lastGood)) throw new CatalogError(first.fault ?? '')
  const catalog = new LiveCatalog(first.catalog ?? readCatalog(lastGood))
  let seen = first.text
  const look = (at: number) => {
    if (textOf(file) === seen) return null
    const next = take(file, lastGood, at)
    seen = next.text
    if (next.catalog) catalog.replace(next.catalog)
    return { fault: next.fault }
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
      const change = look(clock.now())
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

/** Reads the file once, and keeps a copy of what is good. Whatever is wrong is said, never thrown. */
function take(file: string, lastGood: string, now: number): Taken {
  const text = textOf(file)
  try {
    const catalog = parseCatalog(text ?? readCatalogText(file), file, now)
    if (text !== null) keep(lastGood, text)
    return { text, catalog, fault: null }
  } catch (error) {
    return { text, catalog: null, fault: messageOf(error) }
  }
}

function keep(lastGood: string, text: string): void {
  try {
    writeWholeSync(lastGood, text)
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
