import { randomBytes } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { errorCode, exists, removeDurably, writeDurably } from '../../files.ts'
import { oneByOne } from '../../loop.ts'
import {
  DriverError,
  type MachineSpec,
  type MachineState,
  type Measurement,
  type ServerNetwork,
  SSH_PORT,
} from '../driver.ts'
import { qmpSocket } from './command.ts'
import { defineFiles } from './define.ts'
import { diskFailure } from './disk.ts'
import { QEMU } from './host/accel.ts'
import { findByArgument, isAlive, killVerified, type ProcessId, waitGone } from './host/process.ts'
import type { StoredImage } from './images/images.ts'
import {
  type Context,
  clearRun,
  isRouted,
  launch,
  olderLogs,
  prepareRun,
  sealRun,
  startFailure,
} from './launch.ts'
import {
  type MachineFiles,
  type MachineRecord,
  type RunRecord,
  readRecord,
  readRun,
  writeRecord,
} from './layout.ts'
import { boundLog } from './logs.ts'
import { isCardDriven, measureMachine } from './measure.ts'
import { refuseCards, Slots } from './plug.ts'
import { Allowance, type Qmp, type QmpEvent, qmpOf } from './qmp.ts'

type Seen =
  | { power: 'absent' }
  | { power: 'off' }
  | { power: 'on'; qmp: Qmp; status: string }
  | { power: 'hung'; process: ProcessId }

/**
 * One machine: its files, and its process if there is one. Calls that change either run one at a time. The process is
 * found by the machine's uuid among its arguments, so that a process that reuses the pid is left alone.
 */
export class Machine {
  readonly id: string
  readonly files: MachineFiles
  readonly #context: Context
  /** Counts starts and resets, since facts about a guest hold for one boot. */
  boot = 0
  readonly #inTurn = oneByOne()
  #pending = 0
  /** The record on disk, which nobody else writes; undefined: not read yet. */
  #record: MachineRecord | null | undefined
  #run: RunRecord | null | undefined
  /** The QEMU process; undefined: not looked for yet. */
  #process: ProcessId | null | undefined
  #qmp: Qmp | null = null
  readonly #allowance = new Allowance()
  readonly #slots = new Slots()

  constructor(id: string, context: Context) {
    this.id = id
    this.files = context.layout.files(id)
    this.#context = context
  }

  /** False during a call: such a machine must not be forgotten. */
  get isIdle(): boolean {
    return this.#pending === 0
  }

  /** Whether the service is connected to the machine's QEMU, so that the machine runs as far as is known. */
  get isLinked(): boolean {
    return this.#qmp?.isOpen ?? false
  }

  /** The account that owns the machine; a name of the machine's own until its record is read. */
  get owner(): string {
    return this.#record?.spec.owner ?? this.id
  }

  /** The host's port that leads to the guest's SSH; null: there is none, or the record is not read yet. */
  get sshPort(): number | null {
    const ssh = this.#record?.network?.ports.find(({ port }) => port === SSH_PORT)
    return ssh?.hostPort ?? null
  }

  /** Whether the machine's network goes through a passt process. */
  get hasPasst(): boolean {
    return this.#run?.passt ?? false
  }

  /** @param image called if a disk has to be created */
  define(spec: MachineSpec, image: () => Promise<StoredImage>): Promise<void> {
    return this.#exclusive(async () => {
      const seen = await this.#look()
      if (seen.power === 'hung' || (seen.power === 'on' && seen.status !== 'shutdown'))
        throw new DriverError('start_failed', 'The machine is running; turn it off before it is changed')
      if (seen.power === 'on') await this.#endShutDown()
      try {
        await this.#keep(await defineFiles(spec, this.files, this.#record ?? null, this.#context, image))
      } catch (error) {
        throw diskFailure(error)
      }
    })
  }

  /** @param admit called once the machine certainly has to be started; false: not now */
  start(admit: () => boolean): Promise<'started' | 'queued'> {
    return this.#exclusive(async () => {
      const seen = await this.#look()
      const record = this.#record
      if (!record?.network) throw new DriverError('not_found', 'No such machine, or it was never connected')
      if (seen.power === 'hung')
        throw new DriverError(
          'start_failed',
          'The machine has a process that does not respond; power it off first',
        )
      if (seen.power === 'on' && seen.status !== 'shutdown') return 'started'
      if (!admit()) return 'queued'
      await this.#off()
      try {
        await this.#launch(record)
      } catch (error) {
        const failure = await startFailure(record, this.files, error)
        await this.#off()
        throw diskFailure(failure)
      }
      return 'started'
    })
  }

  /** Keeps the machine's network for its next start. */
  connect(network: ServerNetwork): Promise<void> {
    return this.#exclusive(async () => {
      // Only the service writes the record, so QEMU need not be asked.
      if (this.#record === undefined) await this.#look()
      const record = this.#record
      if (record && !isDeepStrictEqual(record.network, network)) await this.#keep({ ...record, network })
    })
  }

  /**
   * Plugs the private network cards into a machine that is on, once their host ends exist.
   * @throws DriverError unsupported
   */
  plug(): Promise<void> {
    return this.#exclusive(async () => {
      const record = this.#record
      if (!record?.network) return
      const isOn = (await this.#findProcess()) !== null
      if (!(isOn ? this.#run?.isRouted : isRouted(record, this.#context))) return refuseCards(record.network)
      if (!isOn || this.#slots.hold(record.network)) return
      const seen = await this.#look()
      if (seen.power === 'on' && seen.status !== 'shutdown') await this.#slots.bring(seen.qmp, record.network)
    })
  }

  shutdown(): Promise<void> {
    return this.#exclusive(async () => {
      const seen = await this.#look()
      if (seen.power === 'hung') throw new DriverError('unavailable', 'The machine does not respond')
      if (seen.power === 'on' && seen.status !== 'shutdown') await seen.qmp.run('system_powerdown')
    })
  }

  reset(): Promise<void> {
    return this.#exclusive(async () => {
      const seen = await this.#look()
      if (seen.power === 'hung') throw new DriverError('unavailable', 'The machine does not respond')
      if (seen.power !== 'on' || seen.status === 'shutdown')
        throw new DriverError('not_found', 'The machine is off; there is nothing to reset')
      this.boot++
      await seen.qmp.run('system_reset')
    })
  }

  powerOff(): Promise<void> {
    return this.#exclusive(async () => {
      await this.#look()
      await this.#off()
    })
  }

  destroy(): Promise<void> {
    return this.#exclusive(async () => {
      await this.#look()
      await this.#off()
      const trashed = join(this.#context.layout.trash, `${this.id}-${randomBytes(6).toString('hex')}`)
      try {
        await rename(this.files.dir, trashed)
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error
      }
      this.#record = null
      // The machine's log writers end a moment after its QEMU.
      await rm(trashed, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
    })
  }

  inspect(): Promise<MachineState> {
    return this.#exclusive(async () => {
      const seen = await this.#look()
      const run = this.#run ?? null
      if (seen.power === 'absent' || seen.power === 'hung') return { power: seen.power }
      if (seen.power === 'off') {
        const reason = run === null ? null : run.guestShutdown ? 'guest_shutdown' : 'crashed'
        return { power: 'stopped', reason }
      }
      if (seen.status === 'shutdown') {
        await this.#endShutDown()
        return { power: 'stopped', reason: 'guest_shutdown' }
      }
      if (seen.status === 'internal-error') return { power: 'hung' }
      // The host's disk was full. The guest continues if there is room again, and stops again if not.
      if (seen.status === 'io-error') await this.#resume(seen.qmp)
      const fixed = run?.isRouted ? {} : { hasFixedPorts: true }
      return { power: 'running', startedAt: run?.startedAt ?? 0, ...fixed }
    })
  }

  /**
   * Returns the machine's resource usage as far as it is known. Does not queue behind calls that change the machine,
   * so that a power-off delays no measurement.
   * @returns null if the machine does not exist or its record is not read yet
   */
  async measure(): Promise<Measurement | null> {
    const [record, run, process, qmp] = [this.#record, this.#run, this.#process, this.#qmp]
    if (!record) return null
    const isOn = run && process && qmp?.isOpen && isAlive(process, record.uuid)
    const running = isOn ? { pid: process.pid, qmp, startedAt: run.startedAt } : null
    return measureMachine(record.spec, this.files.disk, running, this.#context.clock.now())
  }

  /** Whether the guest's kernel was seen running. */
  async hasKernel(): Promise<boolean> {
    return this.#qmp !== null && (await isCardDriven(this.#qmp).catch(() => false))
  }

  /** Trims logs that nothing else bounds. */
  async boundLogs(): Promise<void> {
    for (const log of [this.files.passtLog, ...olderLogs(this.files)]) await boundLog(log)
  }

  /** Disconnects from QEMU, which continues to run. */
  close(): Promise<void> {
    return this.#exclusive(async () => this.#unlink())
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#pending++
    return this.#inTurn(work).finally(() => this.#pending--)
  }

  /** Reads the machine's state from its files, its process and QEMU's own reply. */
  async #look(): Promise<Seen> {
    if (this.#record === undefined) this.#record = await readRecord(this.files)
    if (this.#run === undefined) this.#run = await readRun(this.files)
    const process = await this.#findProcess()
    if (!process || !this.#record) {
      this.#unlink()
      return this.#record || (await exists(this.files.dir)) ? { power: 'off' } : { power: 'absent' }
    }
    try {
      const young = this.#context.clock.now() - (this.#run?.startedAt ?? 0) < 30_000
      const qmp = await this.#link(process, this.#record.uuid, young ? 5000 : 1500)
      const answer = await qmp.run('query-status', {}, 1500)
      // QEMU's schema: { status: string }.
      return { power: 'on', qmp, status: (answer as { status: string }).status }
    } catch {
      if (await this.#findProcess()) return { power: 'hung', process }
      this.#unlink()
      return { power: 'off' }
    }
  }

  async #findProcess(): Promise<ProcessId | null> {
    const uuid = this.#record?.uuid
    if (uuid === undefined) return null
    if (this.#process === undefined) {
      const kept = this.#run?.process
      // A service that was killed at the wrong moment leaves a QEMU that is not in the record yet.
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
      // #qmp is unset for a connection that was closed here or that never opened: neither is news.
      onClose: () => this.#qmp && !this.#qmp.isOpen && this.#context.changed(this.id),
    })
    return this.#qmp
  }

  #unlink(): void {
    const qmp = this.#qmp
    this.#qmp = null
    qmp?.close()
  }

  #heard(event: QmpEvent): void {
    if (event.event === 'RESET' || event.event === 'SHUTDOWN') this.boot++
    if (event.event === 'SHUTDOWN' || event.event === 'STOP') this.#context.changed(this.id)
    // The guest's network driver brings its card up; a boot loader has none, since the card has no ROM.
    if (event.event === 'NIC_RX_FILTER_CHANGED') this.#context.kernelRuns(this.id)
    if (event.event === 'DEVICE_DELETED' && this.#qmp) this.#slots.released(this.#qmp, event.data.device)
  }

  async #resume(qmp: Qmp): Promise<void> {
    this.#context.log.error({ server_id: this.id }, "The machine waits, as the host's disk is full")
    await qmp.run('cont').catch(() => {})
  }

  async #launch(record: MachineRecord): Promise<void> {
    this.#slots.forget()
    const run = await prepareRun(record, this.files, this.#context)
    this.boot++
    // The record is written before anything runs, so that a later process of the service knows that something may.
    await this.#remember(run)
    const process = await launch(record, run, this.files, this.#context)
    // A QEMU that appears late is still found and ended.
    this.#process = process ?? undefined
    if (!process) throw new Error('it ended at once')
    await this.#remember({ ...run, process })
    await this.#link(process, record.uuid, 10_000)
    await sealRun(run, this.files, this.#context)
  }

  /** Ends all processes of the machine and deletes the record of the run. */
  async #off(): Promise<void> {
    await this.#endProcesses()
    await removeDurably(this.files.running)
    this.#run = null
  }

  async #endProcesses(): Promise<void> {
    const process = await this.#findProcess()
    const uuid = this.#record?.uuid
    if (process && uuid !== undefined) {
      const link = await this.#link(process, uuid, 500).catch(() => null)
      // QEMU flushes the disk and ends; a QEMU that hangs is killed.
      const obeys = await link?.run('quit', {}, 1000).then(
        () => true,
        () => !isAlive(process, uuid),
      )
      this.#unlink()
      if (!(obeys && (await waitGone(process, uuid, 5000))) && !(await killVerified(process, uuid)))
        throw new DriverError('unavailable', `Process ${process.pid} of the machine cannot be ended`)
    }
    this.#unlink()
    this.#process = null
    this.boot++
    if (this.#run) await clearRun(this.id, this.#run, this.files, this.#context)
  }

  /**
   * Ends the process that a guest's own power-off leaves paused with its memory and disk. The reason stays in the
   * record.
   */
  async #endShutDown(): Promise<void> {
    if (this.#run && !this.#run.guestShutdown) await this.#remember({ ...this.#run, guestShutdown: true })
    await this.#endProcesses()
  }

  async #keep(record: MachineRecord): Promise<void> {
    await writeRecord(this.files, record)
    this.#record = record
  }

  async #remember(run: RunRecord): Promise<void> {
    await writeDurably(this.files.running, JSON.stringify(run))
    this.#run = run
  }
}
