import { createHash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { readDiskHeader, requireDiskSize, requireIso, UnusableDisk } from '../disk-header.ts'
import { DriverError, type MachineSpec, type TrialMachine } from '../driver.ts'
import {
  type FileSpec,
  type ImportState,
  isSnapshot,
  type SnapshotDriver,
  type SnapshotFile,
  type SnapshotFiles,
  type SnapshotSpec,
  type SnapshotState,
  type TrialState,
  type VerifyState,
} from '../snapshots.ts'
import { bytesOf, copied, copyId, fileMachine, known, type Machine } from './machine.ts'
import type { Machines } from './machines.ts'
import { SimulatedVolumes } from './volumes.ts'

const FILE = 'machine.json'
const BASE = 'base.json'
/** The share of its full copy in the total size of a difference. */
const FULL_SHARE = 0.75

function sealOf(bytes: Buffer) {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** Only the beginning of a file is read for its header. */
const HEAD_BYTES = 4 * 2 ** 20
const ENDLESS = Number.MAX_SAFE_INTEGER

async function firstPart(content: AsyncIterable<Buffer>) {
  const head: Buffer[] = []
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of content) {
    if (bytes < HEAD_BYTES) head.push(chunk)
    hash.update(chunk)
    bytes += chunk.length
  }
  return { head: Buffer.concat(head), bytes, sha256: hash.digest('hex') }
}

/** Trusts the hash of a file in several parts, which can't be computed here. @throws UnusableDisk */
function diskSizeIn(file: NonNullable<Machine['file']>, { bytes, sha256, isIso }: FileSpec): number {
  const { first, header } = file
  if (sha256 !== null && first.bytes === bytes && sha256 !== first.sha256)
    throw new UnusableDisk(`The SHA-256 of the file is ${first.sha256}, not ${sha256}. Upload it again.`)
  if (isIso && file.isIso) return bytes
  if (isIso) throw new UnusableDisk('The file is not an ISO image: it is neither ISO 9660 nor UDF.')
  if ('unusable' in header) throw new UnusableDisk(header.unusable)
  const size = header.format === 'raw' ? bytes : header.virtualSizeBytes
  requireDiskSize(size)
  return size
}

/** @throws the error, unless the file itself is at fault */
function flawOf(error: unknown): { unusable: string } {
  if (error instanceof UnusableDisk) return { unusable: error.message }
  throw error
}

function noFile(): DriverError {
  return new DriverError('not_found', 'The first part of the file is not here.')
}

/** The snapshots of a simulator, each of which is kept as a machine that never runs. */
export abstract class SimulatedSnapshots extends SimulatedVolumes implements SnapshotDriver<TrialMachine> {
  protected abstract readonly machines: Machines
  protected abstract readonly options: { clock: Clock; copyMs: number; bootMs: number }
  readonly #written = new Map<string, Map<string, Buffer>>()
  /** The snapshot in a trial, and the start of the trial. */
  #trial: { snapshotId: string; since: number } | null = null

  readonly snapshotFiles: SnapshotFiles = {
    list: async (snapshotId) => {
      const files = await this.#filesOf(snapshotId)
      return (
        files && [...files].map(([name, { of, bytes }]) => ({ name, ...sealOf(bytes), ...(of && { of }) }))
      )
    },
    read: async (snapshotId, { name, at, length }) => {
      const { bytes } = (await this.#filesOf(snapshotId))?.get(name) ?? {}
      if (!bytes) throw new DriverError('not_found', 'The snapshot does not exist.')
      return bytes.subarray(at, at + length)
    },
    write: async (snapshotId, { name, at, bytes }) => {
      this.failIfTold('writeSnapshot')
      const written = this.#written.get(snapshotId) ?? new Map<string, Buffer>()
      this.#written.set(snapshotId, written)
      const before = written.get(name) ?? Buffer.alloc(0)
      written.set(name, Buffer.concat([before.subarray(0, at), bytes]))
    },
    accept: async (snapshotId, files) => {
      const written = this.#written.get(snapshotId) ?? new Map<string, Buffer>()
      this.#written.delete(snapshotId)
      if (await this.#filesOf(snapshotId)) return null
      const bytesOfFile = (name: string) => written.get(name) ?? Buffer.alloc(0)
      const damaged = files.find(({ name, sha256 }) => sealOf(bytesOfFile(name)).sha256 !== sha256)
      if (damaged) return damaged.name
      const machine: Machine = JSON.parse(bytesOfFile(FILE).toString())
      if (machine.copy?.base) machine.copy.base.file = bytesOfFile(BASE).toString()
      await this.machines.change(copyId(snapshotId), () => machine)
      return null
    },
  }

  async #filesOf(
    snapshotId: string,
  ): Promise<Map<string, { bytes: Buffer; of?: NonNullable<SnapshotFile['of']> }> | null> {
    const id = copyId(snapshotId)
    await this.machines.refresh([id])
    const machine = this.machines.find(id)
    if (!machine || !this.isReady(machine)) return null
    const { base, ...copy } = machine.copy ?? {}
    if (!base) return new Map([[FILE, { bytes: Buffer.from(JSON.stringify(machine)) }]])
    const own = { ...machine, copy: { ...copy, base: { ...base, file: '' } } }
    return new Map([
      [BASE, { bytes: Buffer.from(base.file), of: { snapshotId: base.snapshotId, name: FILE } }],
      [FILE, { bytes: Buffer.from(JSON.stringify(own)) }],
    ])
  }

  async snapshot(serverId: string, snapshotId: string, baseId?: string): Promise<SnapshotState> {
    this.failIfTold('snapshot')
    const { copyMs } = this.options
    await this.machines.refresh([serverId])
    const full = baseId === undefined ? null : await this.#filesOf(baseId)
    return this.#copy(snapshotId, (now) => {
      const { copy, ...made } = copied(this.machines.get(serverId), now, copyMs)
      const isWhole = full?.size === 1 && !this.machines.find(copyId(baseId ?? ''))?.isDamaged
      if (!copy || baseId === undefined || !isWhole) return { ...made, ...(copy && { copy }) }
      const file = full.get(FILE)?.bytes.toString() ?? ''
      return {
        ...made,
        copy: { ...copy, base: { snapshotId: baseId, bytes: bytesOf(made) * FULL_SHARE, file } },
      }
    })
  }

  async receive(imageId: string, at: number, content: AsyncIterable<Buffer>): Promise<void> {
    this.failIfTold('receive')
    const id = copyId(imageId)
    await this.machines.refresh([id])
    const kept = this.machines.find(id)
    if (kept && !kept.file) return
    if (at > 0 && !kept) throw noFile()
    const { head, ...first } = await firstPart(content)
    if (at > 0) return
    const read = async (from: number, bytes: number) => head.subarray(from, from + bytes)
    const header = await readDiskHeader(read, ENDLESS).catch(flawOf)
    const isIso = (await requireIso(read).catch(flawOf)) === undefined
    await this.machines.change(id, (before) =>
      before && !before.file ? before : fileMachine(imageId, { first, header, isIso }),
    )
  }

  async importImage(imageId: string, source: SnapshotSpec | FileSpec): Promise<ImportState> {
    this.failIfTold('importImage')
    if (!isSnapshot(source)) return this.#importFile(imageId, source)
    const id = copyId(source.snapshotId)
    await this.machines.refresh([id])
    return this.#copy(imageId, (now) => {
      const { copy, ...machine } = this.machines.get(id)
      const readyAt = now + this.options.copyMs
      return { ...machine, copy: { consistency: 'crash' as const, ...copy, readyAt } }
    })
  }

  async #importFile(imageId: string, spec: FileSpec): Promise<ImportState> {
    const id = copyId(imageId)
    await this.machines.refresh([id])
    const received = this.machines.find(id)
    if (!received) throw noFile()
    const { file, ...machine } = received
    if (!file) return this.#copy(imageId, () => received)
    try {
      const size = diskSizeIn(file, spec)
      const readyAt = this.options.clock.now() + this.options.copyMs
      const copy = { consistency: 'crash' as const, readyAt, ...(spec.isIso ? { isoBytes: size } : {}) }
      await this.machines.change(id, () => ({ ...machine, diskGb: Math.ceil(size / 2 ** 30), copy }))
    } catch (error) {
      if (!(error instanceof UnusableDisk)) throw error
      await this.removeSnapshot(imageId)
      return { state: 'failed', code: 'unusable', message: error.message }
    }
    return this.#copy(imageId, () => received)
  }

  /** @param make makes the copy if it does not exist */
  async #copy(snapshotId: string, make: (now: number) => Machine): Promise<SnapshotState> {
    const { clock, copyMs } = this.options
    const id = copyId(snapshotId)
    await this.machines.change(id, (kept) => kept ?? make(clock.now()))
    const made = this.machines.get(id)
    const leftMs = (made.copy?.readyAt ?? 0) - clock.now()
    if (leftMs > 0) return { state: 'copying', progress: 1 - leftMs / copyMs }
    const consistency = made.copy?.consistency ?? 'crash'
    const ready = { state: 'ready' as const, bytes: bytesOf(made), diskGb: made.diskGb, consistency }
    const { snapshotId: fullId, bytes } = made.copy?.base ?? {}
    return fullId === undefined || bytes === undefined
      ? ready
      : { ...ready, base: { snapshotId: fullId, bytes } }
  }

  async removeSnapshot(snapshotId: string): Promise<void> {
    this.failIfTold('removeSnapshot')
    await this.machines.change(copyId(snapshotId), () => undefined)
  }

  async verifySnapshot(snapshotId: string): Promise<VerifyState> {
    this.failIfTold('verifySnapshot')
    const id = copyId(snapshotId)
    await this.machines.refresh([id])
    const copy = this.machines.find(id)
    if (copy && !copy.isDamaged) return { state: 'intact' }
    return { state: 'damaged', message: copy ? 'The snapshot has changed.' : 'The snapshot is missing.' }
  }

  async trySnapshot(snapshotId: string): Promise<TrialState> {
    this.failIfTold('trySnapshot')
    await this.machines.refresh()
    const now = this.options.clock.now()
    const copy = this.machines.find(copyId(snapshotId))
    this.requireReady(copy)
    if (this.#trial?.snapshotId !== snapshotId) {
      const isBooting = this.machines.entries.some(([, { isOn, readyAt }]) => isOn && readyAt > now)
      if (this.#trial || isBooting) return { state: 'queued' }
      this.#trial = { snapshotId, since: now }
    }
    if (now - this.#trial.since < this.options.bootMs) return { state: 'booting' }
    if (copy?.isDamaged) return { state: 'failed', message: 'Its console shows a panic' }
    return copy?.boot ?? { state: 'booted', sign: 'agent' }
  }

  async endTrial(snapshotId: string): Promise<void> {
    this.failIfTold('endTrial')
    if (this.#trial?.snapshotId === snapshotId) this.#trial = null
  }

  /** The snapshot in a trial; null: none. */
  get trial(): string | null {
    return this.#trial?.snapshotId ?? null
  }

  /** Decides how a snapshot's system starts in trials. */
  boots(snapshotId: string, boot: TrialState): Promise<void> {
    return this.machines.change(copyId(snapshotId), (copy) => ({ ...known(copy), boot }))
  }

  /** Damages a snapshot, as a failing disk does. */
  damages(snapshotId: string): Promise<void> {
    return this.machines.change(copyId(snapshotId), (copy) => ({ ...known(copy), isDamaged: true }))
  }

  async listSnapshots(
    snapshotIds?: readonly string[],
  ): ReturnType<SnapshotDriver<TrialMachine>['listSnapshots']> {
    this.failIfTold('listSnapshots')
    await this.machines.refresh(snapshotIds?.map(copyId))
    const wanted = snapshotIds && new Set(snapshotIds.map(copyId))
    const found = this.machines.entries.flatMap(([id, machine]) => {
      if (!machine.copy || (wanted && !wanted.has(id))) return []
      return [
        [id.slice(copyId('').length), { isReady: this.isReady(machine), bytes: bytesOf(machine) }] as const,
      ]
    })
    return new Map(found)
  }

  /** The snapshot that a machine's disk is created from. */
  protected async copyOf({ image }: MachineSpec): Promise<Machine | undefined> {
    if (!image || !isSnapshot(image)) return undefined
    const id = copyId(image.snapshotId)
    await this.machines.refresh([id])
    return this.machines.find(id)
  }

  /** @throws DriverError not_found, image_not_ready */
  protected requireReady(from: Machine | undefined): void {
    if (!from || from.copy?.isoBytes !== undefined)
      throw new DriverError('not_found', 'The snapshot does not exist.')
    if (!this.isReady(from)) throw new DriverError('image_not_ready', 'The snapshot is not ready.')
  }

  /** @throws DriverError not_found */
  protected async requireIso(isoId: string): Promise<void> {
    const id = copyId(isoId)
    await this.machines.refresh([id])
    const iso = this.machines.find(id)
    if (!iso || iso.copy?.isoBytes === undefined || !this.isReady(iso))
      throw new DriverError('not_found', 'The ISO does not exist.')
  }

  protected isReady({ copy }: Machine): boolean {
    return copy !== undefined && copy.readyAt <= this.options.clock.now()
  }
}
