import { chmod, open, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { isMissing } from '../../files.ts'
import { DriverError } from '../driver.ts'
import type { SnapshotFile, SnapshotFiles } from '../snapshots.ts'
import { BASE } from './image-node.ts'
import { sha256Of } from './pack.ts'
import { DISK, type Shelf, share } from './snapshot-shelf.ts'

interface Options {
  shelf: Shelf
  /** Fails with disk_full unless this many bytes leave guests enough. */
  requireRoom: (bytes: number) => Promise<void>
  /** Keeps a snapshot from being removed meanwhile. */
  hold: <T>(id: string, work: () => Promise<T>) => Promise<T>
}

/** The snapshots' files, to copy them to another place and back. */
export class ShelfFiles implements SnapshotFiles {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  async list(id: string): Promise<SnapshotFile[] | null> {
    const { shelf } = this.#options
    const manifest = await shelf.find(id)
    if (!manifest) return null
    const names = (await readdir(shelf.place(id))).sort()
    return Promise.all(
      names.map(async (name) => {
        const file = path.join(shelf.place(id), name)
        // Disks are large, and their hashes are known.
        const { base } = manifest
        const size = (await stat(file)).size
        if (name === BASE && base)
          return { name, bytes: size, sha256: base.sha256, of: { snapshotId: base.id, name: DISK } }
        const sha256 = file === shelf.diskOf(id) ? manifest.sha256 : await hashOf(file)
        return { name, bytes: size, sha256 }
      }),
    )
  }

  async read(
    id: string,
    { name, at, length }: { name: string; at: number; length: number },
  ): Promise<Uint8Array> {
    const { shelf } = this.#options
    try {
      await using file = await open(path.join(shelf.place(id), plain(name)))
      const bytes = Buffer.alloc(length)
      const { bytesRead } = await file.read(bytes, 0, length, at)
      return bytes.subarray(0, bytesRead)
    } catch (error) {
      if (isMissing(error)) throw new DriverError('not_found', 'The snapshot does not exist')
      throw error
    }
  }

  async write(
    id: string,
    { name, at, bytes, left = 0 }: Parameters<SnapshotFiles['write']>[1],
  ): Promise<void> {
    const { shelf, requireRoom } = this.#options
    await requireRoom(bytes.length + left)
    const place = path.join(await shelf.folder(id), plain(name))
    // A link to a file of another snapshot may lie there.
    if (at === 0) await rm(place, { force: true })
    await using file = await open(place, at === 0 ? 'wx' : 'r+', 0o600)
    await file.write(bytes, 0, bytes.length, at)
  }

  async accept(id: string, files: readonly SnapshotFile[]): Promise<string | null> {
    const { shelf, hold } = this.#options
    return hold(id, async () => {
      if (await shelf.find(id)) {
        await shelf.forget(id)
        return null
      }
      const { out } = shelf.work(id)
      for (const { name, sha256, of } of files) {
        const file = path.join(out, plain(name))
        if ((await hashOf(file)) !== sha256) {
          await rm(out, { recursive: true, force: true })
          return name
        }
        await chmod(file, 0o444)
        if (of) await hold(of.snapshotId, () => this.#shareKept(id, { name, sha256, of }))
        await using whole = await open(file)
        await whole.sync()
      }
      await shelf.publishWritten(id)
      return null
    })
  }

  /** Uses the full copy that a difference was made to, if it is whole on this host, in place of what was written. */
  async #shareKept(id: string, { name, sha256, of }: Required<Omit<SnapshotFile, 'bytes'>>): Promise<void> {
    const { shelf } = this.#options
    const kept = path.join(shelf.place(of.snapshotId), plain(of.name))
    if ((await shelf.find(of.snapshotId)) === null || (await hashOf(kept)) !== sha256) return
    await share(kept, shelf.work(id).out, name)
  }
}

/** @throws Error if a name is not one of a snapshot's files, since it becomes part of a path */
function plain(name: string): string {
  if (!/^[A-Za-z0-9_][\w.-]{0,63}$/.test(name)) throw new Error(`"${name}" cannot be a file of a snapshot`)
  return name
}

function hashOf(file: string): Promise<string> {
  return sha256Of(file, AbortSignal.timeout(HASH_MS))
}

const HASH_MS = 12 * 3600_000
