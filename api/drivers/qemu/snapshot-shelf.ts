import {
  chmod,
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { basename, join } from 'node:path'
import { exists, isMissing, syncFolder, writeDurably } from '../../files.ts'
import type { SnapshotState } from '../snapshots.ts'
import { BASE } from './image-node.ts'
import type { DirectBoot, StoredImage } from './images/images.ts'
import type { Layout } from './layout.ts'
import { readRecord } from './layout.ts'

export type Consistency = Extract<SnapshotState, { state: 'ready' }>['consistency']

/** The facts of a copy that is in progress, which survive the service and the machine. */
export interface Draft {
  /** Empty for a copy of a file that was received. */
  serverId: string
  /** The size of the copied disk in bytes. */
  virtualSizeBytes: number
  consistency: Consistency
  /** The files of a boot without a loader, by their names in the snapshot's folder. */
  direct: DirectBoot | null
  /** The full copy from which the copy may be a difference; undefined: it will be a full copy. */
  baseId?: string
}

export interface Manifest extends Draft {
  /** The size of the snapshot's disk file. */
  bytes: number
  sha256: string
  /** True for an ISO, which disks can't be created from. */
  isIso?: boolean
  /** The full copy below a difference, with its original size and hash. */
  base?: { id: string; bytes: number; sha256: string }
}

const GIB = 2 ** 30
export const DISK = 'disk.qcow2'
const ISO = 'disk.iso'
const MANIFEST = 'manifest.json'
const REMOVED = 'removed'
/** The name is not a valid snapshot id. */
const TMP = 'tmp'

/**
 * The snapshots on disk. Like an image, each can be the base of disks. A difference has a hard link to the file of
 * its full copy. It stays when the full copy is removed, so no references are counted.
 *
 *   snapshots/<id>/{disk.qcow2, manifest.json, kernel, initrd}   read-only, appears by one rename
 *   snapshots/<id>/base.qcow2                                    the full copy, if disk.qcow2 is a difference to it
 *   snapshots/<id>/{disk.iso, manifest.json}                     a customer's ISO
 *   snapshots/<id>/removed                                       it was removed, and a disk is still based on it
 *   snapshots/tmp/<id>/draft.json                                a copy that is in progress
 *   snapshots/tmp/<id>/draft.qcow2                               the whole disk of a running machine, uncompressed
 *   snapshots/tmp/<id>/difference.qcow2                          a difference, uncompressed
 *   snapshots/tmp/<id>/file                                      the received part of a customer's file
 *   snapshots/tmp/<id>/out/                                      the snapshot's folder until it is complete
 */
export class Shelf {
  readonly #layout: Layout
  readonly root: string

  constructor(layout: Layout) {
    this.#layout = layout
    this.root = join(layout.dataDir, 'snapshots')
  }

  /** The files of a copy that is in progress. */
  work(id: string) {
    const dir = join(this.root, TMP, named(id))
    const out = join(dir, 'out')
    return {
      dir,
      facts: join(dir, 'draft.json'),
      whole: join(dir, 'draft.qcow2'),
      difference: join(dir, 'difference.qcow2'),
      file: join(dir, 'file'),
      out,
      disk: join(out, DISK),
      iso: join(out, ISO),
    }
  }

  /** The folder of a snapshot. */
  place(id: string): string {
    return join(this.root, named(id))
  }

  /** The disk of a snapshot or the file of an ISO, whose hash is in its manifest. */
  diskOf(id: string, isIso = false): string {
    return join(this.place(id), isIso ? ISO : DISK)
  }

  /** The large files of a snapshot, each with the hash that it had when it was made. */
  hashes(id: string, { isIso, sha256, base }: Manifest): [file: string, sha256: string][] {
    const below: [string, string][] = base ? [[join(this.place(id), BASE), base.sha256]] : []
    return [[this.diskOf(id, isIso), sha256], ...below]
  }

  /** @returns the file of an ISO; null: there is none */
  async isoOf(id: string): Promise<string | null> {
    return (await this.find(id))?.isIso ? this.diskOf(id, true) : null
  }

  /** Creates the folder of a new copy, or returns the draft that an earlier call stored. */
  async begin(
    id: string,
    { direct, ...begun }: Pick<Draft, 'serverId' | 'direct' | 'baseId'>,
  ): Promise<Draft> {
    const known = await this.draft(id)
    if (known) return known
    const out = await this.folder(id)
    const names = direct && {
      ...direct,
      kernel: basename(direct.kernel),
      initrd: basename(direct.initrd),
    }
    for (const file of direct ? [direct.kernel, direct.initrd] : []) await share(file, out)
    const draft: Draft = { ...begun, virtualSizeBytes: 0, consistency: 'crash', direct: names }
    await this.note(id, draft)
    return draft
  }

  /** Makes the folder of a file that a customer sends, unless an earlier call did. */
  async beginFile(id: string): Promise<void> {
    if (await this.draft(id)) return
    await this.folder(id)
    await this.note(id, { serverId: '', virtualSizeBytes: 0, consistency: 'crash', direct: null })
  }

  /** Publishes a snapshot under a second id, too. Both share the files, which never change. */
  async share(from: string, id: string): Promise<void> {
    const manifest = await this.find(from)
    if (!manifest) return
    const out = await this.folder(id)
    for (const name of await readdir(this.place(from)))
      if (name !== MANIFEST) await share(join(this.place(from), name), out)
    await this.publish(id, manifest)
  }

  /** Makes the folder for the files of a snapshot, which machines enter as their own users but may not list. */
  async folder(id: string): Promise<string> {
    const { dir, out } = this.work(id)
    for (const folder of [this.root, join(this.root, TMP), dir, out]) {
      await mkdir(folder, { recursive: true })
      await chmod(folder, 0o711)
    }
    return out
  }

  async note(id: string, draft: Draft): Promise<void> {
    await writeDurably(this.work(id).facts, JSON.stringify(draft))
  }

  /** @returns null if no such copy is in progress */
  async draft(id: string): Promise<Draft | null> {
    // `note` replaces the file as a whole.
    return (await readJson(this.work(id).facts)) as Draft | null
  }

  /**
   * Links a full copy into the folder of a copy in progress. The full copy must not be removed meanwhile.
   * @returns null if there is no such full copy
   */
  async addBase(id: string, { baseId, virtualSizeBytes }: Draft): Promise<Manifest['base'] | null> {
    const full = baseId === undefined ? null : await this.find(baseId)
    const isFull = full && !full.isIso && !full.base && full.virtualSizeBytes <= virtualSizeBytes
    if (baseId === undefined || !isFull) return null
    await share(this.diskOf(baseId), this.work(id).out, BASE)
    return { id: baseId, bytes: full.bytes, sha256: full.sha256 }
  }

  /** Removes the link to the full copy again, because the copy in progress is not a difference. */
  async dropBase(id: string): Promise<void> {
    await rm(join(this.work(id).out, BASE), { force: true })
  }

  /** Publishes a complete copy, whose disk is read-only and on disk. */
  async publish(id: string, manifest: Manifest): Promise<void> {
    const { out } = this.work(id)
    await writeDurably(join(out, MANIFEST), JSON.stringify(manifest), 0o444)
    await this.publishWritten(id)
  }

  /**
   * Publishes a complete copy with its manifest. If disks are based on a removed snapshot of this id, its files are
   * replaced: they were the same, unless they were damaged.
   */
  async publishWritten(id: string): Promise<void> {
    const { out } = this.work(id)
    const place = this.place(id)
    await syncFolder(out)
    if (await exists(join(place, REMOVED))) {
      for (const name of await readdir(out)) await rename(join(out, name), join(place, name))
      await syncFolder(place)
      await rm(join(place, REMOVED))
      await syncFolder(place)
    } else await rename(out, place)
    await syncFolder(this.root)
    await this.forget(id)
  }

  /** Removes the files of a copy. The draft's facts go last, so that the copy is known until nothing is left. */
  async forget(id: string): Promise<void> {
    const { dir, whole, file, out } = this.work(id)
    await rm(whole, { force: true })
    await rm(file, { force: true })
    await rm(out, { recursive: true, force: true })
    await rm(dir, { recursive: true, force: true })
  }

  /** Removes what publishing left behind in a service that was killed meanwhile, and copies that never began. */
  async tidy(): Promise<void> {
    for (const id of await entries(join(this.root, TMP)))
      if ((await this.find(id)) || !(await this.draft(id))) await this.forget(id)
  }

  /** @returns null if there is no such snapshot, or if it was removed */
  async find(id: string): Promise<Manifest | null> {
    const place = this.place(id)
    // Written whole by `publish`.
    const manifest = (await readJson(join(place, MANIFEST))) as Manifest | null
    return manifest && !(await exists(join(place, REMOVED))) ? manifest : null
  }

  /** @returns null as find does */
  async ready(id: string): Promise<Extract<SnapshotState, { state: 'ready' }> | null> {
    const manifest = await this.find(id)
    if (!manifest) return null
    const { bytes, virtualSizeBytes, consistency, base } = manifest
    const made = { state: 'ready' as const, diskGb: Math.ceil(virtualSizeBytes / GIB), consistency }
    if (!base) return { ...made, bytes }
    return { ...made, bytes: bytes + base.bytes, base: { snapshotId: base.id, bytes: base.bytes } }
  }

  /** A snapshot as the base of a disk. */
  async image(id: string): Promise<StoredImage | null> {
    const manifest = await this.find(id)
    if (!manifest || manifest.isIso) return null
    const { direct, sha256, virtualSizeBytes, bytes } = manifest
    const place = (name: string) => join(this.place(id), name)
    return {
      ...{ id: sha256, disk: place(DISK), virtualSizeBytes, bytes, source: `snapshot ${id}` },
      direct: direct && { ...direct, kernel: place(direct.kernel), initrd: place(direct.initrd) },
    }
  }

  /** Lists the snapshots and the copies in progress, with their bytes on disk. */
  async list(): Promise<Map<string, { isReady: boolean; bytes: number }>> {
    const found = new Map<string, { isReady: boolean; bytes: number }>()
    for (const id of await entries(join(this.root, TMP)))
      if (await this.draft(id)) found.set(id, { isReady: false, bytes: await this.copied(id) })
    for (const id of await this.#published()) {
      const manifest = await this.find(id)
      if (manifest) found.set(id, { isReady: true, bytes: manifest.bytes })
    }
    return found
  }

  /** The bytes that a copy in progress takes outside of its machine's folder. */
  async copied(id: string): Promise<number> {
    const { whole, difference, file, disk } = this.work(id)
    return (
      (await diskBytes(whole)) +
      (await diskBytes(difference)) +
      (await diskBytes(file)) +
      (await diskBytes(disk))
    )
  }

  /** Hides a snapshot from everything but the disks that are based on it. */
  async hide(id: string): Promise<void> {
    const place = this.place(id)
    if (!(await exists(place))) return
    await writeFile(join(place, REMOVED), '', { flush: true })
    await syncFolder(place)
  }

  /** The snapshots that were removed, but are still here. */
  async hidden(): Promise<string[]> {
    const ids = await this.#published()
    const isHidden = await Promise.all(ids.map((id) => exists(join(this.place(id), REMOVED))))
    return ids.filter((_, at) => isHidden[at])
  }

  /** The snapshot that a disk is based on; null: another base. */
  idOf(base: string): string | null {
    const prefix = `${this.root}/`
    return base.startsWith(prefix) ? (base.slice(prefix.length).split('/')[0] ?? null) : null
  }

  /** Removes a hidden snapshot unless a machine's disk is based on it. No disk may be created from it meanwhile. */
  async sweep(id: string): Promise<'kept' | 'gone'> {
    for (const name of await entries(this.#layout.machines)) {
      const record = await readRecord(this.#layout.files(name))
      if (record && this.idOf(record.base) === id) return 'kept'
    }
    // The mark is removed last: files without it would look like a snapshot, or stay forever.
    for (const name of [DISK, BASE, MANIFEST]) await rm(join(this.place(id), name), { force: true })
    await rm(this.place(id), { recursive: true, force: true })
    return 'gone'
  }

  async #published(): Promise<string[]> {
    return (await entries(this.root)).filter((name) => name !== TMP)
  }
}

/** @throws Error if the id is not a plain name, since it becomes part of a path */
function named(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id) || id === TMP) throw new Error(`"${id}" cannot be a snapshot's id`)
  return id
}

async function entries(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  return names.filter((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name))
}

/** Puts a file that never changes into a folder, too. */
export async function share(file: string, folder: string, name = basename(file)): Promise<void> {
  const place = join(folder, name)
  await rm(place, { force: true })
  await link(file, place).catch(() => copyFile(file, place))
}

/** The bytes that a file takes on disk; 0: there is none. */
export async function diskBytes(file: string): Promise<number> {
  return stat(file).then(
    ({ blocks }) => blocks * 512,
    () => 0,
  )
}

async function readJson(path: string): Promise<unknown> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    return value
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}
