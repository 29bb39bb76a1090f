import { randomBytes } from 'node:crypto'
import { chmod, chown, link, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMissing, syncFolder, writeDurably } from '../../files.ts'
import { DriverError } from '../driver.ts'
import type { Owner } from './host/process.ts'
import { run } from './host/run.ts'
import type { Layout } from './layout.ts'

/** A volume as it is noted beside its file. */
interface Note {
  sizeGb: number
  /** The machine that has it; null: none. */
  serverId: string | null
}

export interface Volume extends Note {
  id: string
}

const GIB = 2 ** 30
const IDS = /^[0-9a-f-]{36}$/
const NOTE = 'volume.json'
const DISK = 'disk.raw'
/** QEMU closes a file within this time of the request. */
const CLOSING_MS = 5000
/** Asks for a lease on a file: the kernel grants one for writing only if nobody else has the file open. */
const ASK_LEASE = `open my $file, "<", $ARGV[0] or die "$!\\n";
  print "open" if !fcntl($file, F_SETLEASE, F_WRLCK) && $!{EAGAIN}`

/**
 * The volumes on disk. They are raw files without a header: a guest that broke out of QEMU could change a header to
 * have other files opened.
 *
 *   volumes/<id>/disk.raw      sparse; belongs to the user of the machine that has it, else to the service
 *   volumes/<id>/volume.json   its size and its machine; written last when it is created
 *   vms/<server>/run/<id>.raw  a hard link, for the machine's QEMU
 */
export class VolumeShelf {
  readonly #root: string
  readonly #trash: string
  #loaded: Promise<Map<string, Note>> | null = null

  constructor({ dataDir, trash }: Layout) {
    this.#root = join(dataDir, 'volumes')
    this.#trash = trash
  }

  /** Nobody else writes the notes, so they are read once. */
  async #notes(): Promise<Map<string, Note>> {
    this.#loaded ??= loadNotes(this.#root).catch((error: unknown) => {
      this.#loaded = null
      throw error
    })
    return this.#loaded
  }

  async all(): Promise<ReadonlyMap<string, Note>> {
    return this.#notes()
  }

  async find(id: string): Promise<Note | null> {
    return (await this.all()).get(id) ?? null
  }

  /** The volumes of a machine, in the order of their ids. */
  async of(serverId: string): Promise<Volume[]> {
    const own = [...(await this.all())].filter(([, note]) => note.serverId === serverId)
    return own.map(([id, note]) => ({ id, ...note })).sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Creates a volume, or makes its file larger. A file never shrinks. */
  async make(id: string, sizeGb: number): Promise<void> {
    const { dir, disk } = this.#place(id)
    const known = await this.find(id)
    await mkdir(dir, { recursive: true, mode: 0o700 })
    // The size is stored first, because a file that is larger than its stored size counts as tampered with.
    if (known && known.sizeGb < sizeGb) await this.#note(id, { ...known, sizeGb })
    const bytes = Math.max(known?.sizeGb ?? 0, sizeGb) * GIB
    await using file = await open(disk, 'a', 0o600)
    if ((await file.stat()).size < bytes) await file.truncate(bytes)
    await file.sync()
    if (known) return
    await this.#note(id, { sizeGb, serverId: null })
    await syncFolder(this.#root)
  }

  /** Notes which machine has a volume; null: none. */
  async assign(id: string, serverId: string | null): Promise<void> {
    const note = await this.find(id)
    if (note && note.serverId !== serverId) await this.#note(id, { ...note, serverId })
  }

  /**
   * Links a volume's file into a folder of its machine, where QEMU can open it.
   * @param folder the machine's folder in which its QEMU may open files
   */
  async lend(id: string, folder: string, owner: Owner | null): Promise<void> {
    const { disk } = this.#place(id)
    const { sizeGb } = (await this.find(id)) ?? { sizeGb: 0 }
    const { size } = await stat(disk)
    if (size > sizeGb * GIB) throw new Error(`${disk} is larger than its ${sizeGb} GB`)
    if (owner) await chown(disk, owner.uid, owner.gid)
    const place = join(folder, lentName(id))
    await rm(place, { force: true })
    await link(disk, place)
  }

  /**
   * Takes a volume's file from a machine whose QEMU has closed it.
   * @throws DriverError unavailable if some process still has it open
   */
  async takeBack(id: string, folder: string): Promise<void> {
    const { disk } = this.#place(id)
    await rm(join(folder, lentName(id)), { force: true })
    if (process.getuid?.() === 0) await chown(disk, 0, 0)
    await chmod(disk, 0o600)
    const deadline = performance.now() + CLOSING_MS
    while (await isOpen(disk)) {
      if (performance.now() > deadline)
        throw new DriverError('unavailable', `A process still has ${disk} open; stop its machine first`)
      await sleep(50)
    }
  }

  /** Detaches all volumes of a machine whose files are gone. */
  async release(serverId: string): Promise<void> {
    for (const { id } of await this.of(serverId)) await this.assign(id, null)
  }

  /** Removes a volume that no machine has. */
  async remove(id: string): Promise<void> {
    const { dir } = this.#place(id)
    const trashed = join(this.#trash, `${id}-${randomBytes(6).toString('hex')}`)
    await rename(dir, trashed).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
    const notes = await this.#notes()
    notes.delete(id)
    await rm(trashed, { recursive: true, force: true })
  }

  async #note(id: string, note: Note): Promise<void> {
    await writeDurably(this.#place(id).note, JSON.stringify(note))
    const notes = await this.#notes()
    notes.set(id, note)
  }

  /** @throws Error if the id is not a plain name, since it becomes part of a path */
  #place(id: string): { dir: string; disk: string; note: string } {
    if (!IDS.test(id)) throw new Error(`"${id}" cannot be a volume's id`)
    const dir = join(this.#root, id)
    return { dir, disk: join(dir, DISK), note: join(dir, NOTE) }
  }
}

/** The name of a volume's file in the folder of its machine. */
export function lentName(id: string): string {
  return `${id}.raw`
}

/** Reads all notes. A volume without one was never completely created. */
async function loadNotes(root: string): Promise<Map<string, Note>> {
  const notes = new Map<string, Note>()
  await mkdir(root, { recursive: true, mode: 0o700 })
  for (const id of (await readdir(root)).filter((name) => IDS.test(name))) {
    try {
      const note: Note = JSON.parse(await readFile(join(root, id, NOTE), 'utf8'))
      notes.set(id, note)
    } catch (error) {
      if (!isMissing(error)) throw new Error(`${join(root, id, NOTE)} cannot be read`, { cause: error })
    }
  }
  return notes
}

async function isOpen(file: string): Promise<boolean> {
  return (await run(['perl', '-MErrno', '-MFcntl=F_SETLEASE,F_WRLCK', '-e', ASK_LEASE, file])) !== ''
}
