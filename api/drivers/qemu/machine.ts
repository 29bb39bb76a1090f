import { randomBytes } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Semaphore } from '../../concurrency.ts'
import { errorCode, exists } from '../../files.ts'
import type { Console } from '../console.ts'
import {
  DriverError,
  type GuestLogin,
  hasDisk,
  type MachineSpec,
  type MachineState,
  type PrivateCard,
  type RescueSpec,
  type ServerNetwork,
  SSH_PORT,
} from '../driver.ts'
import type { Measurement, Traffic } from '../measurement.ts'
import { defineFiles, defineRescue } from './define.ts'
import { diskFailure } from './disk.ts'
import { type CopyOfDisk, type CopyStep, copyDisk, type OffDisk, offDisk } from './disk-copy.ts'
import { thaw } from './freeze.ts'
import { isAlive } from './host/process.ts'
import type { StoredImage } from './images/images.ts'
import { type Context, isRouted, olderLogs, startFailure } from './launch.ts'
import type { MachineFiles, MachineRecord } from './layout.ts'
import { cancelCopies, dropDraft } from './live-copy.ts'
import { boundLog } from './logs.ts'
import { growDiskOf, openScreenOf, setAddressIn, setPasswordIn } from './machine-guest.ts'
import { insertIn } from './machine-iso.ts'
import { MachineProcess } from './machine-process.ts'
import { attachTo, detachFrom, growIn } from './machine-volumes.ts'
import { isCardDriven, measureMachine, withTraffic } from './measure.ts'
import { refuseCards } from './plug.ts'
import type { Qmp } from './qmp.ts'

/** An inspection waits this long for a guest to thaw, as it does for a QEMU that does not answer. */
const THAW_MS = 1500

/** One machine. Calls that change its state run one at a time. */
export class Machine {
  readonly id: string
  readonly #context: Context
  readonly #process: MachineProcess
  readonly #calls = new Semaphore(1)
  /** The program that reads the disk while the machine is off; null: none. */
  #reader: { abort: AbortController; done: Promise<void> } | null = null

  constructor(id: string, context: Context) {
    this.id = id
    this.#context = context
    this.#process = new MachineProcess(id, context)
  }

  get files(): MachineFiles {
    return this.#process.files
  }

  /** Counts starts and resets, since facts about a guest hold for one boot. */
  get boot(): number {
    return this.#process.boot
  }

  /** False while a call runs. The driver must not forget such a machine. */
  get isIdle(): boolean {
    return !this.#calls.isFull
  }

  /** True if the service is connected to the machine's QEMU, so that the machine runs as far as is known. */
  get isLinked(): boolean {
    return this.#process.qmp?.isOpen ?? false
  }

  /** The account that owns the machine; until its record is read, a name that no other machine has. */
  get owner(): string {
    return this.#process.record?.spec.owner ?? this.id
  }

  /** The host's port that leads to the guest's SSH; null: there is none, or the record is not read yet. */
  get sshPort(): number | null {
    const ssh = this.#process.record?.network?.ports.find(({ port }) => port === SSH_PORT)
    return ssh?.hostPort ?? null
  }

  /** True if the machine's network goes through a passt process. */
  get hasPasst(): boolean {
    return this.#process.run?.passt ?? false
  }

  /** @param image called if a disk has to be created */
  define(spec: MachineSpec, image: () => Promise<StoredImage>): Promise<void> {
    return this.#exclusive(async () => {
      await this.#requireOff()
      try {
        await this.#process.keep(
          await defineFiles(spec, this.files, this.#process.record ?? null, this.#context, image),
        )
      } catch (error) {
        throw diskFailure(error)
      }
    })
  }

  /**
   * Sets the system that the machine boots next (Driver.rescue).
   * @param image called if the rescue system has to be made
   */
  rescue(rescue: RescueSpec | null, image: () => Promise<StoredImage>): Promise<void> {
    return this.#exclusive(async () => {
      await this.#requireOff()
      const record = this.#process.record
      if (!record) throw new DriverError('not_found', 'No such machine')
      const { rescue: present, ...own } = record
      const { rescueDisk, rescueSeed } = this.files
      if (!rescue) {
        if (present) await this.#process.keep(own)
        for (const file of [rescueDisk, rescueSeed]) await rm(file, { force: true })
      } else if (present?.id !== rescue.rescueId || !(await exists(rescueDisk))) {
        try {
          await this.#process.keep(await defineRescue(rescue, this.files, own, this.#context, await image()))
        } catch (error) {
          throw diskFailure(error)
        }
      }
    })
  }

  /** Ends a QEMU whose guest has shut down. @throws DriverError start_failed if the machine is on */
  async #requireOff(): Promise<void> {
    const seen = await this.#process.look()
    if (seen.power === 'hung' || (seen.power === 'on' && seen.status !== 'shutdown'))
      throw new DriverError('start_failed', 'The machine is running; turn it off before it is changed')
    if (seen.power === 'on') await this.#process.endShutDown()
    await this.#endReader()
  }

  /** @param admit called if the machine is off; if it returns false, the start is queued */
  start(admit: () => boolean): Promise<'started' | 'queued'> {
    return this.#exclusive(async () => {
      const seen = await this.#process.look()
      const record = this.#process.record
      if (!record?.network) throw new DriverError('not_found', 'No such machine, or it was never connected')
      if (seen.power === 'hung')
        throw new DriverError(
          'start_failed',
          'The machine has a process that does not respond; power it off first',
        )
      if (seen.power === 'on' && seen.status !== 'shutdown') return 'started'
      if (!admit()) return 'queued'
      await this.#endReader()
      await this.#process.off()
      try {
        await this.#process.launch(record)
      } catch (error) {
        const failure = await startFailure(record, this.files, error)
        await this.#process.off()
        throw diskFailure(failure)
      }
      return 'started'
    })
  }

  /** Keeps the machine's network for its next start. */
  connect(network: ServerNetwork): Promise<void> {
    return this.#exclusive(async () => {
      // Only the service writes the record, so QEMU need not be asked.
      if (this.#process.record === undefined) await this.#process.look()
      const record = this.#process.record
      if (record && !isDeepStrictEqual(record.network, network))
        await this.#process.keep({ ...record, network })
    })
  }

  /**
   * Plugs the private network cards into a machine that is on, once their host ends exist.
   * @throws DriverError unsupported
   */
  plug(): Promise<void> {
    return this.#exclusive(async () => {
      const record = this.#process.record
      if (!record?.network) return
      const isOn = (await this.#process.find()) !== null
      if (!(isOn ? this.#process.run?.isRouted : isRouted(record, this.#context)))
        return refuseCards(record.network)
      if (!isOn || this.#process.slots.hold(record.network)) return
      const seen = await this.#process.look()
      if (seen.power === 'on' && seen.status !== 'shutdown')
        await this.#process.slots.bring(seen.qmp, record.network)
    })
  }

  shutdown(): Promise<void> {
    return this.#exclusive(async () => {
      const seen = await this.#process.look()
      if (seen.power === 'hung') throw new DriverError('unavailable', 'The machine does not respond')
      if (seen.power === 'on' && seen.status !== 'shutdown') await seen.qmp.run('system_powerdown')
    })
  }

  reset(): Promise<void> {
    return this.#exclusive(async () => {
      const seen = await this.#process.look()
      if (seen.power === 'hung') throw new DriverError('unavailable', 'The machine does not respond')
      if (seen.power !== 'on' || seen.status === 'shutdown')
        throw new DriverError('not_found', 'The machine is off; there is nothing to reset')
      this.#process.boot++
      await seen.qmp.run('system_reset')
    })
  }

  /** @throws DriverError see Driver.setPassword */
  setPassword(login: GuestLogin): Promise<void> {
    return this.#exclusive(() => setPasswordIn(this.#process, login))
  }

  /** @throws DriverError see Driver.setAddress */
  setAddress(card: PrivateCard): Promise<void> {
    return this.#exclusive(() => setAddressIn(this.#process, card))
  }

  /** @throws DriverError see Driver.growDisk */
  growDisk(sizeGb: number): Promise<void> {
    return this.#exclusive(() => growDiskOf(this.#process, this.#context, sizeGb))
  }

  /** @throws DriverError see Driver.openScreen */
  openScreen(): Promise<Console> {
    return this.#exclusive(() => openScreenOf(this.#process))
  }

  /** @throws DriverError unsupported, unavailable */
  attachVolume(id: string): Promise<void> {
    return this.#exclusive(() => attachTo(this.#process, this.#context, id))
  }

  /** @throws DriverError unavailable */
  detachVolume(id: string): Promise<void> {
    return this.#exclusive(() => detachFrom(this.#process, this.#context, id))
  }

  /** @throws DriverError unavailable */
  growVolume(id: string): Promise<void> {
    return this.#exclusive(() => growIn(this.#process, this.#context, id))
  }

  /** @throws DriverError see Driver.insertIso */
  insertIso(iso: MachineRecord['iso'] | null): Promise<void> {
    return this.#exclusive(() => insertIn(this.#process, this.#context, iso))
  }

  powerOff(): Promise<void> {
    return this.#exclusive(async () => {
      await this.#process.look()
      await this.#process.off()
    })
  }

  /** @param olderThan see Driver.destroy */
  destroy(olderThan?: string): Promise<'gone' | 'kept'> {
    return this.#exclusive(async () => {
      await this.#process.look()
      if (hasDisk(this.#process.record?.spec.diskId, olderThan)) return 'kept'
      await this.#endReader()
      await this.#process.off()
      const trashed = join(this.#context.layout.trash, `${this.id}-${randomBytes(6).toString('hex')}`)
      try {
        await rename(this.files.dir, trashed)
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error
      }
      this.#process.forget()
      // The machine's log writers end a moment after its QEMU.
      await rm(trashed, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
      await this.#context.volumes.release(this.id)
      return 'gone'
    })
  }

  /** @returns null if there is no such machine */
  readRecord(): Promise<MachineRecord | null> {
    return this.#exclusive(async () => {
      await this.#process.look()
      return this.#process.record ?? null
    })
  }

  /** Advances the copy of the disk, if the machine is on (live-copy.ts). */
  copy(copy: CopyOfDisk): Promise<CopyStep> {
    return this.#exclusive(() => copyDisk(this.#process, this.#context, copy))
  }

  /** Ends a copy of the machine's disk in its QEMU, or what is left of it there. */
  cancelCopy(id: string): Promise<void> {
    return this.#exclusive(async () => {
      const seen = await this.#process.look()
      if (seen.power === 'hung') throw new DriverError('unavailable', 'The machine does not respond')
      if (seen.power === 'on') await cancelCopies(seen.qmp, this.files.run, id)
      else await dropDraft(this.files.run)
    })
  }

  /**
   * Lets a program read the disk of a machine that is off, until a call needs the disk: guests come first.
   * @returns false if the machine is on, or the program was ended
   */
  async readDisk(
    signal: AbortSignal,
    work: (disk: OffDisk, signal: AbortSignal) => Promise<void>,
  ): Promise<boolean> {
    const abort = new AbortController()
    const reading = await this.#exclusive(async () => {
      const disk = await offDisk(this.#process, this.#context)
      if (!disk) return null
      const end = work(disk, AbortSignal.any([signal, abort.signal]))
      this.#reader = { abort, done: end.catch(() => {}) }
      // The wait for the end is outside of this call, so that the machine can handle other calls.
      return { end }
    })
    try {
      await reading?.end
      return reading !== null
    } catch (error) {
      if (!abort.signal.aborted) throw error
      return false
    }
  }

  async #endReader(): Promise<void> {
    this.#reader?.abort.abort()
    await this.#reader?.done
    this.#reader = null
  }

  inspect(): Promise<MachineState> {
    return this.#exclusive(async () => {
      const seen = await this.#process.look()
      const run = this.#process.run ?? null
      if (seen.power === 'absent' || seen.power === 'hung') return { power: seen.power }
      if (seen.power === 'off') {
        const reason = run === null ? null : run.guestShutdown ? 'guest_shutdown' : 'crashed'
        return { power: 'stopped', reason }
      }
      if (seen.status === 'shutdown') {
        await this.#process.endShutDown()
        return { power: 'stopped', reason: 'guest_shutdown' }
      }
      if (seen.status === 'internal-error') return { power: 'hung' }
      // The host's disk was full. The guest continues if there is room again, and stops again if not.
      if (seen.status === 'io-error') await this.#resume(seen.qmp)
      // A service that was killed during a copy may have left the guest frozen.
      await thaw(this.#process, THAW_MS)
      const fixed = run?.isRouted ? {} : { hasFixedPorts: true }
      return { power: 'running', startedAt: run?.startedAt ?? 0, ...fixed }
    })
  }

  /**
   * Returns the machine's resource usage as far as it is known. Does not queue behind calls that change the machine,
   * so that a power-off delays no measurement.
   * @returns null if the machine does not exist or its record is not read yet
   */
  async measure(traffic?: Traffic): Promise<Measurement | null> {
    const { record, run, known: process, qmp } = this.#process
    if (!record) return null
    const isOn = run && process && qmp?.isOpen && isAlive(process, record.uuid)
    const running = isOn ? { pid: process.pid, qmp, startedAt: run.startedAt } : null
    const measured = await measureMachine(record.spec, this.files.disk, running, this.#context.clock.now())
    return running ? withTraffic(measured, traffic) : measured
  }

  /** True if the guest's kernel is known to have run in this boot. */
  async hasKernel(): Promise<boolean> {
    return this.#process.qmp !== null && (await isCardDriven(this.#process.qmp).catch(() => false))
  }

  /** Trims logs that nothing else bounds. */
  async boundLogs(): Promise<void> {
    for (const log of [this.files.passtLog, ...olderLogs(this.files)]) await boundLog(log)
  }

  /** Disconnects from QEMU, which continues to run. */
  close(): Promise<void> {
    return this.#exclusive(async () => this.#process.unlink())
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#calls.run(work)
  }

  async #resume(qmp: Qmp): Promise<void> {
    this.#context.log.error(
      { server_id: this.id },
      'The machine is paused, because the disk of the host is full',
    )
    await qmp.run('cont').catch(() => {})
  }
}
