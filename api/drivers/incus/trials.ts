import { setTimeout as sleep } from 'node:timers/promises'
import { Semaphore } from '../../concurrency.ts'
import { messageOf } from '../../message-of.ts'
import { DriverError, type TrialMachine } from '../driver.ts'
import { bootWords } from '../guest/boot-words.ts'
import type { Log } from '../log.ts'
import type { TrialState } from '../snapshots.ts'
import { at } from './client.ts'
import { IncusError, isPassing, unless } from './errors.ts'
import { diskGbOf, type Instance, isTrialOf, stateOf, trialOf, untilOf } from './instance.ts'
import type { Instances } from './instances.ts'
import type { Parts } from './parts.ts'
import { attempt, isAttempt, nameable, READY, targetOf } from './snapshots.ts'

/** Copies of snapshots that boot to see if they start. */
export const TRIALS = 'k-'
/** A guest that waits for a network at boot is up within this time. */
const TRIAL_MS = 10 * 60_000
/** The time after its end in which the process that began a trial removes it; from then on, any process does. */
const LEFT_MS = 2 * 60_000
const SWEEP_MS = 60_000
/** The space that a trial may take beyond that of its snapshot. */
const OVERLAY_MB = 1024
const MOST_RAM_MB = 2048
const MOST_CPU = 2
const COPY_MS = 6 * 3600_000
const END_MS = 10_000
/** The time for the state of an instance, for its console, and for an answer of its init. */
const ANSWER_MS = 3_000
/** The most that is read of a log, and the end of it that is searched. */
const MOST_LOG = 2 ** 20
const READ_BYTES = 64 * 1024
/** An init other than systemd counts as up if it has other processes after this time. */
const SETTLED_MS = 30_000
/** Incus records within this time that the guest turned itself off. */
const NOTED_MS = 30_000
const MIB = 2 ** 20

/** The command prints nothing, because a guest's program could print forever. */
const ASK_SYSTEMD = ['systemctl', 'is-active', '--quiet', 'multi-user.target']
/** The messages of Incus and LXD about a command that does not exist. */
const NO_COMMAND = /command not (found|executable)/i
/** The messages of LXC about an init that can't be executed. */
const NO_INIT = /Failed to exec|Failed to start container|rootfs/

interface TrialParts extends Parts {
  instances: Instances
  log: Log
}

interface Trial {
  id: string
  name: string
  until: number
  /** Resolves once the trial is started or has failed; never rejects. */
  begun: Promise<void>
  isBegun: boolean
  error: unknown
  isCanceled: boolean
  /** When the trial was first seen off. */
  stoppedAt: number | null
  /** The pending query of the guest's init. At most one exists, because a guest may never answer. */
  asking: Promise<void> | null
  answer: 'up' | 'none' | null
}

/**
 * Boots snapshots to see if they start: one at a time, as copies beside them, without cards. A trial says in the cluster
 * until when it is used, so that any process can remove it if the one that began it was killed.
 */
export class IncusTrials {
  readonly #parts: TrialParts
  readonly #calls = new Semaphore(1)
  readonly #timer: NodeJS.Timeout
  #current: Trial | null = null
  #isClosed = false

  constructor(parts: TrialParts) {
    this.#parts = parts
    const sweep = () => void this.#sweep().catch(() => {}) // the next turn tries again
    this.#timer = setInterval(sweep, SWEEP_MS).unref()
    sweep()
  }

  /** Does as Driver.trySnapshot. @throws DriverError, IncusError */
  state(id: string, spec: TrialMachine): Promise<TrialState> {
    return this.#calls.run(async () => {
      if (this.#current?.id === id) return this.#look(this.#current)
      const source = await this.#named(READY + nameable(id))
      if (!source) throw new DriverError('not_found', 'No such snapshot.')
      if (source.config === null) throw new IncusError(0, 'The member of the snapshot does not answer')
      if (!(await this.#parts.members.hasVolumes()))
        throw new DriverError('unsupported', 'The storage of the zone does not bound the disk of a trial.')
      const isFree = this.#current === null && !this.#isClosed && (await this.#isClear())
      if (!isFree || !(await this.#hasRoom(source, spec))) return { state: 'queued' }
      this.#begin(id, source, spec)
      return { state: 'booting' }
    })
  }

  /** Does as Driver.endTrial. One that can't be removed yet is removed once its member answers. */
  end(id: string): Promise<void> {
    return this.#calls.run(() => this.#end(id))
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#isClosed = true
    const { id } = this.#current ?? {}
    if (id !== undefined) await Promise.race([this.end(id), sleep(2 * END_MS, undefined, { ref: false })])
  }

  #begin(id: string, source: Instance, spec: TrialMachine): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    const trial: Trial = {
      ...{ id, name: attempt(TRIALS + id), until: Date.now() + TRIAL_MS, begun: promise },
      ...{ isBegun: false, error: null, isCanceled: false, stoppedAt: null, asking: null, answer: null },
    }
    this.#current = trial
    const end = (error: unknown) => {
      Object.assign(trial, { isBegun: true, error })
      resolve()
    }
    this.#start(trial, source, spec).then(() => end(null), end)
  }

  async #start(trial: Trial, source: Instance, spec: TrialMachine): Promise<void> {
    const { operations, zone } = this.#parts
    const used = await this.#usedMb(source)
    const settings = {
      ...{ cpu: Math.min(spec.cpu, MOST_CPU), ramMb: Math.min(spec.ramMb, MOST_RAM_MB) },
      diskMb: Math.min(diskGbOf(source) * 1024, (used ?? Number.POSITIVE_INFINITY) + OVERLAY_MB),
      ...{ instanceId: spec.instanceId, pool: zone.storage_pool, until: trial.until },
    }
    const body = trialOf(source, settings, zone.group)
    const path = at('/1.0/instances', { project: zone.project, target: targetOf(source.location) })
    const copy = { ...body, name: trial.name, source: { type: 'copy', source: source.name } }
    await operations.run('POST', path, { body: copy, waitMs: COPY_MS })
    const isLate = trial.isCanceled || Date.now() > trial.until
    if (isLate) return this.#remove(trial.name)
    const start = { action: 'start', timeout: 30 }
    await operations.run('PUT', this.#path(trial.name, '/state'), { body: start })
  }

  async #look(trial: Trial): Promise<TrialState> {
    if (!trial.isBegun) return { state: 'booting' }
    if (trial.error !== null) return this.#failure(trial)
    const instance = await this.#named(trial.name)
    if (!instance) throw new DriverError('unavailable', 'The trial was removed.')
    const { power } = stateOf(instance)
    if (power === 'stopped') return this.#stopped(trial, instance)
    if (power !== 'running') throw new DriverError('unavailable', 'The member of the trial does not answer.')
    const { failure, isUp } = bootWords(await this.#log(trial.name, '/console'))
    if (failure !== null) return { state: 'failed', message: `Its console shows "${failure}"` }
    if (isUp) return { state: 'booted', sign: 'console' }
    if (await this.#isInitUp(trial, instance)) return { state: 'booted', sign: 'init' }
    return { state: Date.now() < trial.until ? 'booting' : 'unproven' }
  }

  /** @throws the error of a start if the snapshot is not the cause */
  async #failure({ name, error }: Trial): Promise<TrialState> {
    if (!(error instanceof IncusError) || isPassing(error)) throw error
    const log = await this.#log(name, '/logs/lxc.log')
    if (!NO_INIT.test(log.toString('latin1'))) throw error
    return { state: 'failed', message: `It can't be started: ${messageOf(error)}` }
  }

  /** @throws DriverError if the guest did not turn itself off */
  async #stopped(trial: Trial, instance: Instance): Promise<TrialState> {
    const state = (await this.#parts.instances.moves())(instance, stateOf(instance))
    if (state.power === 'stopped' && state.reason === 'guest_shutdown')
      return { state: 'failed', message: 'It turned off by itself' }
    trial.stoppedAt ??= Date.now()
    if (state.power === 'stopped' && Date.now() - trial.stoppedAt < NOTED_MS) return { state: 'booting' }
    throw new DriverError('unavailable', 'The member of the trial turned it off.')
  }

  async #isInitUp(trial: Trial, instance: Instance): Promise<boolean> {
    if (trial.answer === null) {
      trial.asking ??= this.#ask(trial).finally(() => {
        trial.asking = null
      })
      await Promise.race([trial.asking, sleep(ANSWER_MS, undefined, { ref: false })])
    }
    if (trial.answer !== 'none') return trial.answer === 'up'
    const state = stateOf(instance)
    if (state.power !== 'running' || Date.now() - state.startedAt < SETTLED_MS) return false
    const path = this.#path(trial.name, '/state')
    const { processes } = await this.#parts.client.get<{ processes: number }>(path, ANSWER_MS)
    return processes > 1
  }

  /** Asks systemd if it has reached its target; another init has no such command. */
  async #ask(trial: Trial): Promise<void> {
    const body = {
      ...{ command: ASK_SYSTEMD, environment: {}, interactive: false },
      ...{ 'wait-for-websocket': false, 'record-output': false },
    }
    const sent = { body, waitMs: TRIAL_MS }
    const path = this.#path(trial.name, '/exec')
    try {
      const ended = await this.#parts.operations.run('POST', path, sent)
      trial.answer = ended?.metadata?.return === 0 ? 'up' : null
    } catch (error) {
      trial.answer = NO_COMMAND.test(messageOf(error)) ? 'none' : null
    }
  }

  async #end(id: string): Promise<void> {
    const trial = this.#current?.id === id ? this.#current : null
    if (trial) {
      trial.isCanceled = true
      await Promise.race([trial.begun, sleep(END_MS, undefined, { ref: false })])
      this.#current = null
    }
    for (const { name } of await this.#all()) if (isAttempt(name, TRIALS + id)) await this.#discard(name)
  }

  /** Removes trials of the zone that earlier processes left behind. @returns false if one can't be removed yet */
  async #isClear(): Promise<boolean> {
    const left = (await this.#all()).filter((instance) => isTrialOf(instance, this.#parts.zone.group))
    const removed = await Promise.all(left.map(({ name }) => this.#discard(name)))
    return removed.every((isGone) => isGone)
  }

  /** Removes trials whose time is over. */
  async #sweep(): Promise<void> {
    for (const instance of await this.#all()) {
      const until = untilOf(instance)
      const isLeft = until !== null && Date.now() > until + LEFT_MS
      if (isLeft && instance.name !== this.#current?.name) await this.#discard(instance.name)
    }
  }

  /** Removes a trial if that is possible now. @returns true if it is gone */
  async #discard(name: string): Promise<boolean> {
    try {
      await this.#remove(name)
      return true
    } catch (error) {
      this.#parts.log.warn({ err: error, instance: name }, 'A trial was not removed; trying again')
      return false
    }
  }

  async #remove(name: string): Promise<void> {
    const { operations } = this.#parts
    const body = { action: 'stop', force: true, timeout: 30 }
    await operations.run('PUT', this.#path(name, '/state'), { body }).catch(() => {}) // it may be off, or broken
    await operations.run('DELETE', this.#path(name)).catch(unless('missing'))
  }

  /** True if the snapshot's member has free twice the memory of a trial, and all the disk space that it may take. */
  async #hasRoom({ location }: Instance, { ramMb }: TrialMachine): Promise<boolean> {
    const { client, zone } = this.#parts
    const target = targetOf(location)
    const pool = `/1.0/storage-pools/${zone.storage_pool}/resources`
    const [{ memory }, { space }] = await Promise.all([
      client.get<{ memory: { total: number; used: number } }>(at('/1.0/resources', { target })),
      client.get<{ space: { total: number; used?: number } }>(at(pool, { target })),
    ])
    const hasMemory = memory.total - memory.used > 2 * Math.min(ramMb, MOST_RAM_MB) * MIB
    return hasMemory && space.total - (space.used ?? 0) > OVERLAY_MB * MIB
  }

  /** The space that an instance takes; null: unknown. */
  async #usedMb({ name }: Instance): Promise<number | null> {
    const path = this.#path(name, '/state')
    const state = await this.#parts.client
      .get<{ disk: { root?: { usage: number } } | null }>(path, ANSWER_MS)
      .catch(() => null)
    const bytes = state?.disk?.root?.usage
    return bytes === undefined ? null : Math.ceil(bytes / MIB)
  }

  /** Reads the end of an instance's log; empty if there is none. */
  async #log(name: string, part: string): Promise<Buffer> {
    try {
      const reply = await this.#parts.client.stream(this.#path(name, part), { timeoutMs: ANSWER_MS })
      const chunks: Buffer[] = []
      let bytes = 0
      for await (const chunk of reply) {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > MOST_LOG) break
      }
      return Buffer.concat(chunks).subarray(-READ_BYTES)
    } catch {
      return Buffer.alloc(0)
    }
  }

  async #all(): Promise<Instance[]> {
    return (await this.#parts.instances.list()).filter(({ name }) => name.startsWith(TRIALS))
  }

  async #named(name: string): Promise<Instance | null> {
    const query = { project: this.#parts.zone.project, recursion: '1', filter: `name eq ${name}` }
    const [found] = await this.#parts.client.get<Instance[]>(at('/1.0/instances', query))
    return found ?? null
  }

  #path(name: string, part = ''): string {
    return at(`/1.0/instances/${name}${part}`, { project: this.#parts.zone.project })
  }
}
