import { createHash, type Hash } from 'node:crypto'
import type { SnapshotFile, SnapshotFiles } from '../drivers/snapshots.ts'
import type { Place } from './place.ts'
import type { Sealer } from './sealer.ts'

/** The list of files that a copy ends with, as JSON. */
interface Contents {
  snapshot_id: string
  part_bytes: number
  files: SnapshotFile[]
}

/** A fault of a copy. */
export interface Damage {
  /** The snapshot whose files are damaged: the one that was asked for, or the full copy below it. */
  snapshotId: string
  /** For operators. */
  reason: string
}

interface Part {
  key: string
  name: string
  at: number
  length: number
}

/** A copy holds two parts in memory, plain and encrypted. A difference relies on the part size of its full copy. */
const PART_BYTES = 16 * 2 ** 20
const LIST = 'copy.json.age'

/**
 * Copies of snapshots outside of their host. Each is a folder of parts, which are age files, so that `age` alone opens
 * them: the parts of a file, decrypted one after the other, are the file. A part is written whole or not at all, so a
 * copy that was interrupted resumes at its next part.
 *
 *   <snapshot>/disk.qcow2.000000.age …   the parts of its files, without those of the full copy it is based on
 *   <snapshot>/copy.json.age             the list of its files, written last
 */
export class Vault {
  readonly #place: Place
  readonly #sealer: Sealer
  readonly #partBytes: number

  constructor(place: Place, sealer: Sealer, { partBytes = PART_BYTES } = {}) {
    this.#place = place
    this.#sealer = sealer
    this.#partBytes = partBytes
  }

  /** The place without secrets. */
  get place(): string {
    return this.#place.name
  }

  /** Releases memory that was not used since the last call. */
  rest(): void {
    this.#sealer.rest()
  }

  /**
   * Copies a ready snapshot.
   * @param progress.done the number of parts that are already stored
   * @param progress.noted called after each part; false ends the work
   * @param progress.there a snapshot whose copy is complete, so its files are not sent again; null: none
   * @returns the hash of its list of files; null if the snapshot is not on its host, or the work was ended
   * @throws PlaceError, DriverError
   */
  async send(
    source: SnapshotFiles,
    id: string,
    { done, noted, there }: { done: number; noted: (done: number) => Promise<boolean>; there: string | null },
  ): Promise<string | null> {
    const all = await source.list(id)
    if (!all) return null
    const files = ownFirst(all).map(
      ({ of, ...file }): SnapshotFile => (of && of.snapshotId === there ? { ...file, of } : file),
    )
    const own = files.filter(({ of }) => !of)
    const parts = partsOf(id, own, this.#partBytes)
    const sent = source.areExports ? await this.#resume(id, parts, done) : done
    for (const [at, part] of parts.entries()) {
      if (at < sent) continue
      await this.#place.put(part.key, await this.#sealer.seal(await source.read(id, part)))
      if (!(await noted(at + 1))) return null
    }
    const contents: Contents = { snapshot_id: id, part_bytes: this.#partBytes, files }
    const text = Buffer.from(JSON.stringify(contents))
    await this.#place.put(`${id}/${LIST}`, await this.#sealer.seal(text))
    return hashOf(text)
  }

  /**
   * Removes the parts of earlier exports of a snapshot, whose bytes differ.
   * @returns the number of parts of this export that are already stored
   */
  async #resume(id: string, parts: readonly Part[], done: number): Promise<number> {
    const there = (await this.#place.list(id)).map((name) => `${id}/${name}`)
    const wanted = new Set([...parts.map(({ key }) => key), `${id}/${LIST}`])
    const others = there.filter((key) => !wanted.has(key))
    for (const key of others) await this.#place.remove(key)
    const last = parts[done - 1]
    return others.length === 0 && last && there.includes(last.key) ? done : 0
  }

  /**
   * Brings a snapshot back to a host.
   * @param options.sha256 the hash that `send` returned: a copy with any other hash is rejected
   * @returns what is wrong with the copy; null: the snapshot is ready
   * @throws PlaceError, DriverError, the signal's reason
   */
  async bring(
    target: Pick<SnapshotFiles, 'write' | 'accept'>,
    id: string,
    { sha256, progress, signal }: { sha256: string; progress: (share: number) => void; signal: AbortSignal },
  ): Promise<Damage | null> {
    const text = await this.#open(`${id}/${LIST}`)
    if (!text || hashOf(text) !== sha256)
      return { snapshotId: id, reason: `${this.place} has no whole copy of ${id}` }
    // The hash proves that `send` wrote this text.
    const { files, part_bytes } = JSON.parse(Buffer.from(text).toString()) as Contents
    const parts = partsOf(id, files, part_bytes)
    const damageOf = (damaged: string, reason: string): Damage => {
      return { snapshotId: files.find(({ name }) => name === damaged)?.of?.snapshotId ?? id, reason }
    }
    let left = parts.reduce((sum, { length }) => sum + length, 0)
    for (const [at, { key, ...part }] of parts.entries()) {
      signal.throwIfAborted()
      const bytes = await this.#open(key)
      if (bytes?.length !== part.length)
        return damageOf(part.name, `${key} in ${this.place} is missing or damaged`)
      left -= part.length
      await target.write(id, { name: part.name, at: part.at, bytes, left })
      progress((at + 1) / parts.length)
    }
    const damaged = await target.accept(id, files)
    return damaged === null ? null : damageOf(damaged, `${damaged} of ${id} in ${this.place} is damaged`)
  }

  /** Reads a whole copy as `bring` does, but stores nothing. */
  check(id: string, wanted: { sha256: string; signal: AbortSignal }): Promise<Damage | null> {
    const hashes = new Map<string, Hash>()
    const reader: Pick<SnapshotFiles, 'write' | 'accept'> = {
      write: async (_id, { name, at, bytes }) => {
        const hash = (at > 0 && hashes.get(name)) || createHash('sha256')
        hashes.set(name, hash.update(bytes))
      },
      accept: async (_id, files) =>
        files.find(({ name, sha256 }) => hashes.get(name)?.digest('hex') !== sha256)?.name ?? null,
    }
    return this.bring(reader, id, { ...wanted, progress: () => {} })
  }

  /** Removes a copy. The list goes first, because parts without a list do not count as a copy. */
  async remove(id: string): Promise<void> {
    await this.#place.remove(`${id}/${LIST}`)
    for (const name of await this.#place.list(id)) await this.#place.remove(`${id}/${name}`)
  }

  /** Lists the ids of all copies, including unfinished ones. */
  list(): Promise<string[]> {
    return this.#place.list('')
  }

  async #open(key: string): Promise<Uint8Array | null> {
    const sealed = await this.#place.get(key)
    return sealed && this.#sealer.open(sealed)
  }
}

/** Puts own files first: progress is a count of parts, whether or not those of the full copy are sent, too. */
function ownFirst(files: readonly SnapshotFile[]): SnapshotFile[] {
  return [...files.filter(({ of }) => !of), ...files.filter(({ of }) => of)]
}

/** An empty file has one part, too. */
function partsOf(id: string, files: readonly SnapshotFile[], partBytes: number): Part[] {
  return files.flatMap(({ name, bytes, of = { snapshotId: id, name } }) =>
    Array.from({ length: Math.max(1, Math.ceil(bytes / partBytes)) }, (_, number) => {
      const at = number * partBytes
      const key = `${of.snapshotId}/${of.name}.${String(number).padStart(6, '0')}.age`
      return { key, name, at, length: Math.min(partBytes, bytes - at) }
    }),
  )
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
