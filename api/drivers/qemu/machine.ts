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
 * One machine: its files, and its process if it has one. What changes either runs one at a time. The process is
 * found by the machine's uuid among its arguments, so that a pid that now belongs to something else is left alone.
 */
export class Machine {
  readonly id: string
  readonly files: MachineFiles
  readonly #context: Context
  /** Counts starts and resets: what is known of a guest is known of one boot. */
  boot = 0
  readonly #inTurn = oneByOne()
  #pending = 0
  /** As on disk; undefined: not read yet. Nobody else writes them. */
  #record: MachineRecord | null | undefined
  #run: RunRecord | null | undefined
  /** undefined: not looked for yet. */
  #process: ProcessId | null | undefined
  #qmp: Qmp | null = null
  readonly #allowance = new Allowance()
  readonly #slots = new Slots()

  constructor(id: string, context: Context) {
    this.id = id
    this.files = context.layout.files(id)
    this.#context = context
  }

  /** False while a call is under way: such a machine must not be forgotten. */
  get isIdle(): boolean {
    return this.#pending === 0
  }

  /** Whether its QEMU is connected and so, as far as we know, runs. */
  get isLinked(): boolean {
    return this.#qmp?.isOpen ?? false
  }

  /** Whose it is; nobody else's while it was not looked at yet. */
  get owner(): string {
    return this.#record?.spec.owner ?? this.id
  }

  /** The port of the host that leads to the guest's ssh; null: none does, or the machine was not looked at yet. */
  get sshPort(): number | null {
    const ssh = this.#record?.network?.ports.find(({ port }) => port === SSH_PORT)
    return ssh?.hostPort ?? null
  }

  /** Whether a passt stands between. */
  get hasPasst(): boolean {
    return this.#run?.passt ?? false
  }

  /** @param image asked for when a disk has to be made */
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

  /** @param admit asked once it is sure that the machine has to be started; false: not now */
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

  /** Keeps what leads to it, for its next start. */
  connect(network: ServerNetwork): Promise<void> {
    return this.#exclusive(async () => {
      // Nobody else writes the record: what its QEMU does is of no matter here.
      if (this.#record === undefined) await this.#look()
      const record = this.#record
      if (record && !isDeepStrictEqual(record.network, network)) await this.#keep({ ...record, network })
    })
  }

  /**
   * Gives a machine that is on the cards that it should have, once their other ends are there.
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
      // The keepers of its logs end a moment after it.
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
      // The host's disk was full. Where there is room again the guest goes on; if not, it stops again.
      if (seen.status === 'io-error') await this.#resume(seen.qmp)
      const fixed = run?.isRouted ? {} : { hasFixedPorts: true }
      return { power: 'running', startedAt: run?.startedAt ?? 0, ...fixed }
    })
  }

  /**
   * What it has used, as far as it is known. Not in turn with what changes the machine, so that nobody waits for a
   * power-off to hear what another machine does.
   * @returns null for a machine that is not there, or was not looked at yet
   */
  async measure(): Promise<Measurement | null> {
    const [record, run, process, qmp] = [this.#record, this.#run, this.#process, this.#qmp]
    if (!record) return null
    const isOn = run && process && qmp?.isOpen && isAlive(process, record.uuid)
    const running = isOn ? { pid: process.pid, qmp, startedAt: run.startedAt } : null
    return measureMachine(record.spec, this.files.disk, running, this.#context.clock.now())
  }

  /** Whether the guest is past its loader, as far as a look has found. */
  async hasKernel(): Promise<boolean> {
    return this.#qmp !== null && (await isCardDriven(this.#qmp).catch(() => false))
  }

  /** Keeps logs small that do not so by themselves. */
  async boundLogs(): Promise<void> {
    for (const log of [this.files.passtLog, ...olderLogs(this.files)]) await boundLog(log)
  }

  /** Lets go of QEMU, which runs on. */
  close(): Promise<void> {
    return this.#exclusive(async () => this.#unlink())
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#pending++
    return this.#inTurn(work).finally(() => this.#pending--)
  }

  /** What there is of the machine, by its files, its process and its QEMU's own word. */
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
      // Killed at the wrong moment, the service leaves a QEMU that it had not written down yet.
      this.#process = kept && isAlive(kept, uuid) ? kept : this.#run ? findByArgument(uuid, QEMU) : null
    } else if (this.#process && !isAlive(this.#process, uuid)) this.#process = null
    return this.#process
  }

  /** The connection to the machine's QEMU, a new one if need be. A young QEMU may not listen yet. */
  async #link(process: ProcessId, uuid: string, patienceMs: number): Promise<Qmp> {
    if (this.#qmp?.isOpen) return this.#qmp
    const path = qmpSocket(this.#run?.sockets ?? this.#context.layout.socketFolder(this.id))
    this.#qmp = await qmpOf(uuid, {
      path,
      patienceMs,
      isAlive: () => isAlive(process, uuid),
      allowance: this.#allowance,
      onEvent: (event) => this.#heard(event),
      // Of a connection that we closed, or that was never made, #qmp no longer, or not yet, tells.
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
    // The driver of a guest's network card brings it up: boot loaders have none, as the card has no ROM.
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
    // Before anything runs: whoever finds this file knows that something may.
    await this.#remember(run)
    const process = await launch(record, run, this.files, this.#context)
    // One that comes late all the same is looked for, to be ended.
    this.#process = process ?? undefined
    if (!process) throw new Error('it ended at once')
    await this.#remember({ ...run, process })
    await this.#link(process, record.uuid, 10_000)
    await sealRun(run, this.files, this.#context)
  }

  /** Ends all that runs of the machine and forgets that it should run. */
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
      // This flushes the disk and ends; one that hangs gets no such chance.
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

  /** After a guest's own power-off a process is left that holds its memory and disk; why it is off stays known. */
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
