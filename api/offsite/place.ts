import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { exists, isMissing, writeDurably } from '../files.ts'
import { messageOf } from '../message-of.ts'

/** The place outside of the host where copies of disks are kept, as objects with a key like a path. */
export interface Place {
  /** The place without secrets. */
  readonly name: string
  /** Writes an object whole, or not at all. @throws PlaceError */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** @returns null if there is no such object. @throws PlaceError */
  get(key: string): Promise<Uint8Array | null>
  /** Lists the names directly below a folder, in no order; '' is the whole place. @throws PlaceError */
  list(folder: string): Promise<string[]>
  /** The object may be absent already. @throws PlaceError */
  remove(key: string): Promise<void>
}

/** The place can't be reached or used. The message is for operators. */
export class PlaceError extends Error {
  override readonly name = 'PlaceError'
}

/** A folder, which another host or disk provides. It is never created: an absent one is a mount that is missing. */
export class FolderPlace implements Place {
  readonly name: string

  constructor(folder: string) {
    this.name = folder
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#try(async () => {
      const file = path.join(this.name, key)
      if (!(await exists(this.name))) throw new Error('the folder is missing; is it mounted?')
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
      await writeDurably(file, Buffer.from(bytes))
    })
  }

  async get(key: string): Promise<Uint8Array | null> {
    return this.#try(() => readFile(path.join(this.name, key)).catch(nullIfMissing))
  }

  async list(folder: string): Promise<string[]> {
    return this.#try(async () => {
      const all = await readdir(this.name)
      const names = folder === '' ? all : await readdir(path.join(this.name, folder)).catch(nullIfMissing)
      return names ?? []
    })
  }

  async remove(key: string): Promise<void> {
    await this.#try(async () => {
      await readdir(this.name)
      await rm(path.join(this.name, key), { force: true })
      await removeIfEmpty(path.join(this.name, path.dirname(key)))
    })
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw new PlaceError(`${this.name} can't be used: ${messageOf(error)}`, { cause: error })
    }
  }
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}

async function removeIfEmpty(folder: string): Promise<void> {
  const names = await readdir(folder).catch(nullIfMissing)
  if (names?.length === 0) await rm(folder, { recursive: true, force: true })
}
