import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rm, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import { DriverError } from '../driver.ts'

/** Bytes of this host's disk that stay free. */
const KEPT_FREE = 2 ** 30
/** The age of a file that a process has left behind. */
const OLD_MS = 24 * 3600_000

/** Collects exports that are brought back in files on this host's disk, until they are complete. */
export class Spool {
  readonly #folder: string
  /** The suffix of this spool's files, because other processes may bring back the same snapshot. */
  readonly #mark = `.${process.pid}-${randomBytes(3).toString('hex')}`
  #isOpen = false

  /** @param folder need not exist; all processes of this host may share it */
  constructor(folder: string) {
    this.#folder = folder
  }

  fileOf(snapshotId: string): string {
    return path.join(this.#folder, snapshotId + this.#mark)
  }

  /** Does as SnapshotFiles.write, for the one file of an export. @throws DriverError disk_full */
  async write(
    snapshotId: string,
    { at, bytes, left = 0 }: { at: number; bytes: Uint8Array; left?: number },
  ): Promise<void> {
    if (!this.#isOpen) await this.#open()
    const { bavail, bsize } = await statfs(this.#folder)
    if (bavail * bsize < bytes.length + left + KEPT_FREE)
      throw new DriverError('disk_full', 'The disk of this host has no room for the export.')
    await using file = await open(this.fileOf(snapshotId), at === 0 ? 'w' : 'r+', 0o600)
    await file.write(bytes, 0, bytes.length, at)
  }

  async remove(snapshotId: string): Promise<void> {
    await rm(this.fileOf(snapshotId), { force: true })
  }

  /** Removes this spool's files. */
  async close(): Promise<void> {
    if (this.#isOpen) await this.#removeIf(async (name) => name.endsWith(this.#mark))
  }

  async #open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    await this.#removeIf(async (name) => {
      const { mtimeMs } = await stat(path.join(this.#folder, name))
      return mtimeMs < Date.now() - OLD_MS
    })
    this.#isOpen = true
  }

  async #removeIf(isOver: (name: string) => Promise<boolean>): Promise<void> {
    // Another process may remove it at the same time.
    for (const name of await readdir(this.#folder))
      if (await isOver(name).catch(() => false)) await rm(path.join(this.#folder, name), { force: true })
  }
}
