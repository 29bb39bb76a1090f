import { readdir } from 'node:fs/promises'
import { Semaphore } from '../../concurrency.ts'
import { PLAIN_NETWORK, type TrialMachine } from '../driver.ts'
import { bootWords } from '../guest/boot-words.ts'
import type { TrialState } from '../snapshots.ts'
import { askAgent } from './agent.ts'
import type { BootingMachines } from './booting.ts'
import type { Room } from './host/room.ts'
import type { StoredImage } from './images/images.ts'
import type { Context } from './launch.ts'
import { Layout, readRun } from './layout.ts'
import { lastBytes } from './logs.ts'
import { Machine } from './machine.ts'

/** A trial takes at most this long: enough for an emulated guest that waits for a network at boot. */
const TRIAL_MS = 10 * 60_000
/** The size limit in bytes of the temporary disk. */
const OVERLAY_BYTES = 4 * 2 ** 30
const MOST_RAM_MB = 2048
const MOST_CPU = 2
const AGENT_MS = 1500
/** The end of the console that is searched. */
const READ_BYTES = 64 * 1024

interface Trial {
  id: string
  machine: Machine
  until: number
}

interface Options {
  context: Context
  booting: BootingMachines
  room: Room
  /** Keeps a snapshot from being removed until the work is done. */
  use: (id: string, work: (image: () => Promise<StoredImage>) => Promise<void>) => Promise<void>
}

/**
 * Boots snapshots to see if they start: one at a time, without a network, on temporary disks. These machines have a
 * folder of their own, so that they never count as customers' machines. They end with the service.
 */
export class Trials {
  readonly #options: Options
  readonly #context: Context
  readonly #calls = new Semaphore(1)
  #current: Trial | null = null
  #isClosed = false

  constructor(options: Options) {
    const { context } = options
    const layout = new Layout(context.layout.dataDir, 'trials')
    const ignore = () => {}
    this.#options = options
    this.#context = {
      ...{ ...context, layout, guests: null, network: 'none', fileBytes: OVERLAY_BYTES },
      ...{ changed: ignore, kernelRuns: ignore },
    }
  }

  /** Removes trials that a killed service left behind. */
  async adopt(): Promise<void> {
    const { layout, log } = this.#context
    for (const name of await readdir(layout.machines))
      await new Machine(name, this.#context)
        .destroy()
        .catch((error: unknown) => log.error({ err: error, snapshot_id: name }, 'A trial was not removed'))
  }

  /** See Driver.trySnapshot. */
  state(id: string, spec: TrialMachine): Promise<TrialState> {
    return this.#calls.run(async () => {
      if (this.#current?.id === id) return this.#look(this.#current)
      const isBusy = this.#current !== null || this.#options.booting.isBusy() || !hasMemory(spec)
      if (this.#isClosed || isBusy) return { state: 'queued' }
      await this.#options.room.require(OVERLAY_BYTES)
      await this.#begin(id, spec)
      return { state: 'booting' }
    })
  }

  /** See Driver.endTrial. */
  end(id: string): Promise<void> {
    return this.#calls.run(async () => {
      if (this.#current?.id === id) await this.#end(this.#current)
    })
  }

  close(): Promise<void> {
    return this.#calls.run(async () => {
      this.#isClosed = true
      if (this.#current) await this.#end(this.#current)
    })
  }

  async #begin(id: string, spec: TrialMachine): Promise<void> {
    const machine = new Machine(id, this.#context)
    const trial = { id, machine, until: this.#context.clock.now() + TRIAL_MS }
    this.#current = trial
    const limits = { cpu: Math.min(spec.cpu, MOST_CPU), ramMb: Math.min(spec.ramMb, MOST_RAM_MB) }
    const secrets = { sshPublicKeys: [], password: null, userData: null }
    const whole = { ...spec, ...limits, ...secrets, serverId: id, image: { snapshotId: id } }
    try {
      await this.#options.use(id, (image) => machine.define(whole, image))
      await machine.connect({ ...PLAIN_NETWORK, number: 0 })
      await machine.start(() => true)
    } catch (error) {
      await this.#end(trial)
      throw error
    }
  }

  async #look({ machine, until }: Trial): Promise<TrialState> {
    const { power } = await machine.inspect()
    const run = await readRun(machine.files)
    if (power === 'running' && run && (await answers(run.sockets))) return { state: 'booted', sign: 'agent' }
    const { failure, isUp } = bootWords(await lastBytes(machine.files.serialLog, READ_BYTES))
    if (failure !== null) return { state: 'failed', message: `Its console shows "${failure}"` }
    if (isUp) return { state: 'booted', sign: 'console' }
    if (power === 'stopped' || power === 'absent')
      return { state: 'failed', message: 'It turned off by itself' }
    if (this.#context.clock.now() < until) return { state: 'booting' }
    if (await machine.hasKernel()) return { state: 'unproven' }
    return { state: 'failed', message: `Nothing shows its kernel after ${TRIAL_MS / 60_000} minutes` }
  }

  async #end(trial: Trial): Promise<void> {
    await trial.machine.destroy()
    this.#current = null
  }
}

/** True if a trial leaves as much memory free as it takes. */
function hasMemory({ ramMb }: TrialMachine): boolean {
  return process.availableMemory() > 2 * Math.min(ramMb, MOST_RAM_MB) * 2 ** 20
}

function answers(sockets: string): Promise<boolean> {
  return askAgent(sockets, 'guest-ping', {}, AGENT_MS).then(
    () => true,
    () => false,
  )
}
