import { exists, removeDurably, writeDurably } from '../../files.ts'
import { DriverError } from '../driver.ts'
import { qmpSocket } from './command.ts'
import { QEMU } from './host/accel.ts'
import { findByArgument, isAlive, killVerified, type ProcessId, waitGone } from './host/process.ts'
import { type Context, clearRun, launch, prepareRun, sealRun } from './launch.ts'
import {
  type MachineFiles,
  type MachineRecord,
  type RunRecord,
  readRecord,
  readRun,
  writeRecord,
} from './layout.ts'
import { Slots } from './plug.ts'
import { Allowance, type Qmp, type QmpEvent, qmpOf } from './qmp.ts'

type Seen =
  | { power: 'absent' }
  | { power: 'off' }
  | { power: 'on'; qmp: Qmp; status: string }
  | { power: 'hung'; process: ProcessId }

/**
 * A machine's files, its QEMU process and the connection to it, as far as the service knows them. Calls must not
 * overlap: Machine runs them one at a time. The process is found by the machine's uuid among its arguments, so that a
 * process that reuses the pid is left alone.
 */
export class MachineProcess {
  readonly id: string
  readonly files: MachineFiles
  readonly #context: Context
  readonly slots = new Slots()
  /** Counts starts and resets, since facts about a guest hold for one boot. */
  boot = 0
  #record: MachineRecord | null | undefined
  #run: RunRecord | null | undefined
  /** The QEMU process; undefined: not looked for yet. */
  #process: ProcessId | null | undefined
  #qmp: Qmp | null = null
  readonly #allowance = new Allowance()

  constructor(id: string, context: Context) {
    this.id = id
    this.files = context.layout.files(id)
    this.#context = context
  }

  /** The stored record, which only this object writes; null: no such machine; undefined: not read yet. */
  get record(): MachineRecord | null | undefined {
    return this.#record
  }

  /** The record of the run; null: it is off; undefined: not read yet. */
  get run(): RunRecord | null | undefined {
    return this.#run
  }

  /** The connection to QEMU, if there is one. */
  get qmp(): Qmp | null {
    return this.#qmp
  }

  /** The process as it was last found. */
  get known(): ProcessId | null {
    return this.#process ?? null
  }

  /** Reads the machine's state from its files, its process and QEMU's own reply. */
  async look(): Promise<Seen> {
    if (this.#record === undefined) this.#record = await readRecord(this.files)
    if (this.#run === undefined) this.#run = await readRun(this.files)
    const process = await this.find()
    if (!process || !this.#record) {
      this.unlink()
      return this.#record || (await exists(this.files.dir)) ? { power: 'off' } : { power: 'absent' }
    }
    try {
      const young = this.#context.clock.now() - (this.#run?.startedAt ?? 0) < 30_000
      const qmp = await this.#link(process, this.#record.uuid, young ? 5000 : 1500)
      const answer = await qmp.run('query-status', {}, 1500)
      // QEMU's schema: { status: string }.
      return { power: 'on', qmp, status: (answer as { status: string }).status }
    } catch {
      if (await this.find()) return { power: 'hung', process }
      this.unlink()
      return { power: 'off' }
    }
  }

  /** Finds the QEMU process; null: there is none. */
  async find(): Promise<ProcessId | null> {
    const uuid = this.#record?.uuid
    if (uuid === undefined) return null
    if (this.#process === undefined) {
      const kept = this.#run?.process
      // If the service was killed right after a start, QEMU runs but is not in the record yet.
      this.#process = kept && isAlive(kept, uuid) ? kept : this.#run ? findByArgument(uuid, QEMU) : null
    } else if (this.#process && !isAlive(this.#process, uuid)) this.#process = null
    return this.#process
  }

  /**
   * Returns the connection to the machine's QEMU, opening a new one if needed. A QEMU that just started may not
   * listen yet.
   */
  async #link(process: ProcessId, uuid: string, patienceMs: number): Promise<Qmp> {
    if (this.#qmp?.isOpen) return this.#qmp
    const path = qmpSocket(this.#run?.sockets ?? this.#context.layout.socketFolder(this.id))
    this.#qmp = await qmpOf(uuid, {
      path,
      patienceMs,
      isAlive: () => isAlive(process, uuid),
      allowance: this.#allowance,
      onEvent: (event) => this.#heard(event),
      // #qmp is not set if the service closed the connection or it never opened: neither is a change of the machine.
      onClose: () => this.#qmp && !this.#qmp.isOpen && this.#context.changed(this.id),
    })
    return this.#qmp
  }

  /** Disconnects from QEMU, which continues to run. */
  unlink(): void {
    const qmp = this.#qmp
    this.#qmp = null
    qmp?.close()
  }

  #heard(event: QmpEvent): void {
    if (event.event === 'RESET' || event.event === 'SHUTDOWN') this.boot++
    if (event.event === 'SHUTDOWN' || event.event === 'STOP') this.#context.changed(this.id)
    // The guest's network driver brings its card up; a boot loader has none, since the card has no ROM.
    if (event.event === 'NIC_RX_FILTER_CHANGED') this.#context.kernelRuns(this.id)
    if (event.event === 'DEVICE_DELETED' && this.#qmp) this.slots.released(this.#qmp, event.data.device)
  }

  /** Starts QEMU and connects to it. @throws Error if it does not come up */
  async launch(record: MachineRecord): Promise<void> {
    this.slots.forget()
    const run = await prepareRun(record, this.files, this.#context)
    this.boot++
    // The record is written before anything runs, so that a later process of the service knows that something may.
    await this.#remember(run)
    const process = await launch(record, run, this.files, this.#context)
    // A QEMU that appears late is still found and ended.
    this.#process = process ?? undefined
    if (!process) throw new Error('it exited immediately')
    await this.#remember({ ...run, process })
    await this.#link(process, record.uuid, 10_000)
    await sealRun(run, this.files, this.#context)
  }

  /** Ends all processes of the machine and deletes the record of the run. */
  async off(): Promise<void> {
    await this.#endProcesses()
    if (this.#record && this.#run && this.#record.wasCut !== this.isCut)
      await this.keep({ ...this.#record, wasCut: this.isCut })
    await removeDurably(this.files.running)
    this.#run = null
  }

  /**
   * True if a machine that is off ended without a shutdown of its guest. The shutdown of a rescue system does not
   * count.
   */
  get isCut(): boolean {
    const wasCut = this.#record?.wasCut ?? false
    if (!this.#run) return wasCut
    return !this.#run.guestShutdown || (wasCut && this.#record?.rescue !== undefined)
  }

  async #endProcesses(): Promise<void> {
    const process = await this.find()
    const uuid = this.#record?.uuid
    if (process && uuid !== undefined) {
      const link = await this.#link(process, uuid, 500).catch(() => null)
      // QEMU flushes the disk and ends; a QEMU that hangs is killed.
      const obeys = await link?.run('quit', {}, 1000).then(
        () => true,
        () => !isAlive(process, uuid),
      )
      this.unlink()
      if (!(obeys && (await waitGone(process, uuid, 5000))) && !(await killVerified(process, uuid)))
        throw new DriverError('unavailable', `Process ${process.pid} of the machine cannot be ended`)
    }
    this.unlink()
    this.#process = null
    this.boot++
    if (this.#run) await clearRun(this.id, this.#run, this.files, this.#context)
  }

  /**
   * Ends the process that a guest's own power-off leaves paused with its memory and disk. The reason stays in the
   * record.
   */
  async endShutDown(): Promise<void> {
    if (this.#run && !this.#run.guestShutdown) await this.#remember({ ...this.#run, guestShutdown: true })
    await this.#endProcesses()
  }

  /** Writes the record of the machine. */
  async keep(record: MachineRecord): Promise<void> {
    await writeRecord(this.files, record)
    this.#record = record
  }

  /** Writes down whether the guest's file systems may be frozen. */
  async noteFrozen(isFrozen: boolean): Promise<void> {
    if (this.#run) await this.#remember({ ...this.#run, isFrozen })
  }

  async #remember(run: RunRecord): Promise<void> {
    await writeDurably(this.files.running, JSON.stringify(run))
    this.#run = run
  }

  /** Forgets the record of a machine whose files are gone. */
  forget(): void {
    this.#record = null
  }
}
