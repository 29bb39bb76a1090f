import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { syncFolder, writeDurably } from '../../../files.ts'
import { startTime } from '../host/proc.ts'
import type { DirectBoot, StoredImage } from './images.ts'

/** An image's manifest.json: file names relative to its folder, and sizes to detect truncated files. */
interface Manifest {
  virtualSizeBytes: number
  source: string
  direct: DirectBoot | null
  /** The name of the disk; missing: disk.qcow2. */
  disk?: string
  files: Record<string, number>
}

const WEEK_MS = 7 * 24 * 3600 * 1000
/** The names of work folders identify the process that uses them, so that no lock is needed: see `claim`. */
const here = ownerPrefix()
const DISK = 'disk.qcow2'
const openDirectories = new Set<string>()

/**
 * The images on disk.
 *
 *   images/<sha256>/{disk.qcow2, vmlinuz, initrd.img, manifest.json}   read-only, appears by one rename
 *   images/sources/<key>.json                                          {"sha256"}: which image a source led to
 *   images/failures/<key>.json                                         {"message"}: why the last try failed
 *   images/tmp/<key>.<owner>/                                          work in progress
 *   images/isos/                                                       the same for the operator's ISOs
 */
export class ImageDirectory {
  readonly #root: string
  readonly #owner = `${here}-${randomBytes(4).toString('hex')}`

  /** @param folder `isos` for ISOs, since only its source decides if a file is an ISO or a disk */
  constructor(dataDir: string, folder = '') {
    this.#root = path.resolve(dataDir, 'images', folder)
    openDirectories.add(this.#owner)
  }

  /** Returns the image that a source led to earlier, if all its files are still complete. */
  async find(key: string): Promise<StoredImage | null> {
    const entry = await readJson(path.join(this.#root, 'sources', `${key}.json`))
    // Only the service's own names reach the file system: a sha256 in hex.
    return typeof entry?.sha256 === 'string' && /^[0-9a-f]{64}$/.test(entry.sha256)
      ? this.load(entry.sha256)
      : null
  }

  async load(id: string): Promise<StoredImage | null> {
    const dir = path.join(this.#root, id)
    const manifest = await readManifest(dir)
    if (!manifest) return null
    let bytes = 0
    for (const [name, size] of Object.entries(manifest.files)) {
      if ((await stat(path.join(dir, name)).catch(() => null))?.size !== size) return null
      bytes += size
    }
    const { direct, virtualSizeBytes, source, disk = DISK } = manifest
    return {
      id,
      disk: path.join(dir, disk),
      direct: direct && {
        ...direct,
        kernel: path.join(dir, direct.kernel),
        initrd: path.join(dir, direct.initrd),
      },
      virtualSizeBytes,
      bytes,
      source,
    }
  }

  async list(): Promise<StoredImage[]> {
    const names = await readdir(this.#root).catch(() => [])
    const images = await Promise.all(
      names.filter((name) => /^[0-9a-f]{64}$/.test(name)).map((name) => this.load(name)),
    )
    return images.filter((image) => image !== null)
  }

  /**
   * Claims a folder to prepare a source in; null while a live process works on it. A dead process's work is taken
   * over by renaming its folder, which only one process can do.
   */
  async claim(key: string): Promise<string | null> {
    const tmp = path.join(this.#root, 'tmp')
    await mkdir(tmp, { recursive: true })
    const mine = path.join(tmp, `${key}.${this.#owner}`)
    const others = (await readdir(tmp)).filter((name) => name.startsWith(`${key}.`))
    if (others.some((name) => isAlive(ownerOf(name)))) return null
    for (const name of others) {
      try {
        await rename(path.join(tmp, name), mine)
        return mine
      } catch {
        // Another process was faster, or this is a second leftover, which the sweep removes.
      }
    }
    await mkdir(mine, { recursive: true })
    return mine
  }

  /** Releases a claimed folder: kept for the next attempt to continue, or removed. */
  async release(key: string, dir: string, keep: boolean): Promise<void> {
    if (
      keep &&
      (await rename(dir, path.join(this.#root, 'tmp', `${key}.released`)).then(
        () => true,
        () => false,
      ))
    )
      return
    await removeTree(dir)
  }

  /**
   * Moves the files of `out` into place and records which source they came from. It is all or nothing even if the
   * power fails: files, folder and entry are synced before the next step becomes visible.
   */
  async publish(
    keys: readonly string[],
    out: string,
    id: string,
    facts: Omit<Manifest, 'files'>,
  ): Promise<StoredImage> {
    const files: Record<string, number> = {}
    const names = [facts.disk ?? DISK, ...(facts.direct ? [facts.direct.kernel, facts.direct.initrd] : [])]
    for (const name of names) files[name] = await settle(path.join(out, name))
    const manifest: Manifest = { ...facts, files }
    await writeDurably(path.join(out, 'manifest.json'), JSON.stringify(manifest, null, 1), 0o444)
    for (const name of await readdir(out)) {
      if (!names.includes(name) && name !== 'manifest.json')
        await rm(path.join(out, name), { recursive: true })
    }
    await syncFolder(out)
    const place = path.join(this.#root, id)
    try {
      await rename(out, place)
    } catch (error) {
      if (!(await this.load(id))) {
        // A damaged image of the same content is in the way. Running machines keep their open file.
        await rename(place, path.join(this.#root, 'tmp', `damaged-${randomBytes(4).toString('hex')}`)).catch(
          () => {
            throw error
          },
        )
        await rename(out, place)
      }
    }
    await syncFolder(this.#root)
    await mkdir(path.join(this.#root, 'sources'), { recursive: true })
    for (const key of keys)
      await writeDurably(
        path.join(this.#root, 'sources', `${key}.json`),
        JSON.stringify({ sha256: id }),
        0o444,
      )
    const image = await this.load(id)
    if (!image) throw new Error(`image ${id} disappeared while it was moved into place`)
    return image
  }

  /** The reason why the last attempt to prepare an image failed, in any process; null if it did not. */
  async failure(key: string): Promise<{ message: string } | null> {
    const note = await readJson(this.#failureNote(key))
    return typeof note?.message === 'string' ? { message: note.message } : null
  }

  async noteFailure(key: string, message: string | null): Promise<void> {
    const note = this.#failureNote(key)
    if (message === null) return rm(note, { force: true })
    await mkdir(path.dirname(note), { recursive: true })
    await writeDurably(note, JSON.stringify({ message }))
  }

  #failureNote(key: string): string {
    const name = createHash('sha256').update(key).digest('hex').slice(0, 16)
    return path.join(this.#root, 'failures', `${name}.json`)
  }

  /** Removes what dead processes left behind and no attempt can continue. */
  async sweep(now: number): Promise<void> {
    const tmp = path.join(this.#root, 'tmp')
    for (const name of await readdir(tmp).catch(() => [])) {
      if (isAlive(ownerOf(name))) continue
      const part = await stat(path.join(tmp, name, 'part')).catch(() => null)
      if (!part || now - part.mtimeMs > WEEK_MS) await removeTree(path.join(tmp, name))
    }
  }

  /** Lets other processes take over the claims of this one. */
  close(): void {
    openDirectories.delete(this.#owner)
  }
}

/** Boot id, pid and start time together identify a process for ever. */
function ownerPrefix(): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
  return `${boot}-${process.pid}-${startTime(process.pid)}`
}

function ownerOf(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}

function isAlive(owner: string): boolean {
  if (owner.startsWith(`${here}-`)) return openDirectories.has(owner)
  const [boot, pid, started] = owner.split('-')
  return boot === here.split('-')[0] && /^\d+$/.test(pid ?? '') && startTime(pid ?? '') === started
}

async function readManifest(dir: string): Promise<Manifest | null> {
  const manifest = await readJson(path.join(dir, 'manifest.json'))
  // `publish` wrote the file atomically; the test catches files of other origin.
  return manifest?.files && typeof manifest.virtualSizeBytes === 'number'
    ? (manifest as unknown as Manifest) // as publish wrote it
    : null
}

async function readJson(file: string): Promise<Record<string, unknown> | null> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    // An object's fields are each tested by the callers.
    return typeof value === 'object' ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** Makes a finished file durable and read-only, and returns its size. */
async function settle(file: string): Promise<number> {
  await using handle = await open(file)
  await handle.sync()
  await chmod(file, 0o444)
  return (await handle.stat()).size
}

/** Removes a work folder. Never fails, since leftovers are harmless. */
async function removeTree(dir: string): Promise<void> {
  try {
    await rm(dir, { recursive: true, force: true })
  } catch {
    // A killed build of an ordinary user leaves files with ids that only its user namespace may touch.
    const args = ['--map-root-user', '--map-auto', 'rm', '-rf', '--', dir]
    await new Promise((resolve) => execFile('unshare', args, resolve))
  }
}
