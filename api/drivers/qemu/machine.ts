import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, exists, removeDurably, writeDurably } from '../../files.ts'
import { DriverError, type MachineSpec, type MachineState, type Measurement, SSH_PORT } from '../driver.ts'
import type { StoredImage } from '../images/images.ts'
import { qmpSocket } from './command.ts'
import { createDisk, diskFailure, growDisk } from './disk.ts'
import { hashPassword, isHashOf } from './guest/crypt.ts'
import { seedVolume } from './guest/seed.ts'
import { removeCgroups } from './host/cgroup.ts'
import {
  findByArgument,
  identify,
  isAlive,
  killVerified,
  type Owner,
  type ProcessId,
  waitGone,
} from './host/process.ts'
import { type Context, launch, prepareRun, qemuOwner, startFailure } from './launch.ts'
import {
  type MachineFiles,
  type MachineRecord,
  type RunRecord,
  readRecord,
  readRun,
  writeRecord,
} from './layout.ts'
import { boundLog, endOfLog } from './logs.ts'
import { measureMachine } from './measure.ts'
import { stopPasst } from './network.ts'
import { Qmp, type QmpEvent } from './qmp.ts'

type Seen =
  | { power: 'absent' }
  | { power: 'off' }
  | { power: 'on'; qmp: Qmp; status: string }
  | { power: 'hung'; process: ProcessId }

const SOCKETS = ['qmp.sock', 'serial.sock', 'ga.sock', 'passt.sock']
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
  #tail: Promise<unknown> = Promise.resolve()
  #pending = 0
  /** As on disk; undefined: not read yet. Nobody else writes them. */
  #record: MachineRecord | null | undefined
  #run: RunRecord | null | undefined
  /** undefined: not looked for yet. */
  #process: ProcessId | null | undefined
  #qmp: Qmp | null = null

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
    const ssh = this.#record?.spec.forwards.find(({ guestPort }) => guestPort === SSH_PORT)
    return ssh?.hostPort ?? null
  }

  /** @param image asked for when a disk has to be made */
  define(spec: MachineSpec, image: () => Promise<StoredImage>): Promise<void> {
    return this.#exclusive(async () => {
      const seen = await this.#look()
      const old = this.#record ?? null
      const { password, userData, image: _image, ...kept } = spec
      if (seen.power === 'hung' || (seen.power === 'on' && seen.status !== 'shutdown'))
        throw new DriverError('start_failed', 'The machine is running; turn it off before it is changed')
      // After a guest's own power-off a process is left that holds the disk; why it is off stays known.
      if (seen.power === 'on') {
        await this.#noteGuestShutdown()
        await this.#endProcesses()
      }
      try {
        await mkdir(this.files.dir, { recursive: true, mode: 0o711 })
        // A disk without a record is what a crash left of an earlier try: the record is written last.
        const hasDisk = old !== null && (await growDisk(this.files.disk, spec.diskGb, this.#owner(old)))
        const { base, direct } = hasDisk ? old : await this.#makeDisk(spec.diskGb, await image())
        const passwordHash = hashFor(password, hasDisk ? old.passwordHash : null)
        await writeDurably(this.files.seed, seedVolume({ ...kept, userData, passwordHash }))
        const record = { uuid: old?.uuid ?? randomUUID(), spec: kept, passwordHash, base, direct }
        await writeRecord(this.files, record)
        this.#record = record
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
      if (!record) throw new DriverError('not_found', 'No such machine')
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
      await rm(trashed, { recursive: true, force: true })
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
        // The note outlives the process, which now only holds the guest's memory.
        await this.#noteGuestShutdown()
        await this.#endProcesses()
        return { power: 'stopped', reason: 'guest_shutdown' }
      }
      if (seen.status === 'internal-error') return { power: 'hung' }
      // The host's disk was full. Where there is room again the guest goes on; if not, it stops again.
      if (seen.status === 'io-error') await this.#resume(seen.qmp)
      return { power: 'running', startedAt: run?.startedAt ?? 0 }
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

  /** The last lines of what QEMU said, for the log. */
  lastWords(): Promise<string> {
    return endOfLog(this.files.qemuLog, 2000)
  }

  /** Keeps logs small. */
  async boundLogs(): Promise<void> {
    await boundLog(this.files.serialLog)
    await boundLog(this.files.qemuLog)
  }

  /** Lets go of QEMU, which runs on. */
  close(): Promise<void> {
    return this.#exclusive(async () => this.#unlink())
  }

  async #makeDisk(diskGb: number, image: StoredImage): Promise<Pick<MachineRecord, 'base' | 'direct'>> {
    const stands = { base: image.disk, direct: image.direct }
    await createDisk(this.files.disk, diskGb, image, this.#owner(stands))
    return stands
  }

  #owner(stands: Pick<MachineRecord, 'base' | 'direct'>): Owner | null {
    return qemuOwner(this.id, stands, this.#context)
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#pending++
    const result = this.#tail.then(work).finally(() => this.#pending--)
    this.#tail = result.catch(() => {})
    return result
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
      const pid = Number(await endOfLog(this.files.pid, 16))
      // Killed at the wrong moment, the service leaves a QEMU that had not written its pid yet.
      this.#process = (pid > 1 ? identify(pid, uuid) : null) ?? (this.#run ? findByArgument(uuid) : null)
    } else if (this.#process && !isAlive(this.#process, uuid)) this.#process = null
    return this.#process
  }

  /** The connection to the machine's QEMU, a new one if need be. A young QEMU may not listen yet. */
  async #link(process: ProcessId, uuid: string, patienceMs: number): Promise<Qmp> {
    if (this.#qmp?.isOpen) return this.#qmp
    const path = qmpSocket(this.#run?.sockets ?? this.#context.layout.socketFolder(this.id))
    const deadline = performance.now() + patienceMs
    for (;;) {
      try {
        const qmp = await Qmp.connect(
          path,
          1500,
          (event) => this.#heard(event),
          // Of a connection that we closed, or that was never made, #qmp no longer, or not yet, tells.
          () => this.#qmp && !this.#qmp.isOpen && this.#context.changed(this.id),
        )
        const answer = await qmp.run('query-uuid')
        // QEMU's schema: { UUID: string }.
        if ((answer as { UUID: string }).UUID !== uuid) {
          qmp.close()
          throw new Error('Another machine answers on the socket')
        }
        this.#qmp = qmp
        return qmp
      } catch (error) {
        const early = ['ENOENT', 'ECONNREFUSED'].includes(errorCode(error) ?? '')
        if (!early || performance.now() > deadline || !isAlive(process, uuid)) throw error
        await sleep(10)
      }
    }
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
  }

  async #resume(qmp: Qmp): Promise<void> {
    this.#context.log.error({ serverId: this.id }, "The machine stands still because the host's disk is full")
    await qmp.run('cont').catch(() => {})
  }

  async #launch(record: MachineRecord): Promise<void> {
    const run = await prepareRun(record, this.files, this.#context)
    this.boot++
    // Before anything runs: whoever finds this file knows that something may.
    await this.#remember(run)
    this.#process = identify(await launch(record, run, this.files, this.#context), record.uuid)
    if (!this.#process) throw new Error('it ended at once')
    await this.#link(this.#process, record.uuid, 10_000)
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
    const run = this.#run
    if (!run) return
    if (run.passt) await stopPasst(run.sockets)
    await removeCgroups(run.cgroups)
    for (const name of SOCKETS) await rm(join(run.sockets, name), { force: true })
    if (basename(run.sockets) !== basename(this.files.run))
      await rm(run.sockets, { recursive: true, force: true })
    await rm(this.files.pid, { force: true })
  }

  async #noteGuestShutdown(): Promise<void> {
    if (this.#run && !this.#run.guestShutdown) await this.#remember({ ...this.#run, guestShutdown: true })
  }

  async #remember(run: RunRecord): Promise<void> {
    await writeDurably(this.files.running, JSON.stringify(run))
    this.#run = run
  }
}

/** The same password keeps its hash, so that defining a machine again changes nothing. */
function hashFor(password: string | null, old: string | null): string | null {
  if (password === null) return old
  return old !== null && isHashOf(password, old) ? old : hashPassword(password)
}
