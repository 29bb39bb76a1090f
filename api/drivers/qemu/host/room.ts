import { statfs } from 'node:fs/promises'
import { DriverError } from '../../driver.ts'

const MOST_RESERVE = 20 * 2 ** 30

/** Watches the free space on the host's disk: copies must leave a reserve to guests. */
export class Room {
  readonly #dataDir: string
  readonly #reserveBytes: number | undefined

  /** @param reserveBytes (default: 5 % of the disk, at most 20 GiB) */
  constructor(dataDir: string, reserveBytes: number | undefined) {
    this.#dataDir = dataDir
    this.#reserveBytes = reserveBytes
  }

  /** @throws DriverError disk_full */
  async require(bytes: number): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(this.#dataDir)
    const reserve = this.#reserveBytes ?? Math.min((blocks * bsize) / 20, MOST_RESERVE)
    if (bavail * bsize - bytes < reserve)
      throw new DriverError('disk_full', 'The disk of the host has no room for a copy of the disk')
  }

  /** Calls `full` when the room is used up, until the returned function is called. */
  watch(full: (error: unknown) => void): () => void {
    const watch = setInterval(() => void this.require(0).catch(full), LOOK_MS)
    return () => clearInterval(watch)
  }
}

const LOOK_MS = 200
