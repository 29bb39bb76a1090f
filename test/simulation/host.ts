import { type Driver, DriverError, type MachineState } from '../../api/drivers/driver.ts'
import type { Simulator } from '../../api/drivers/simulator/simulator.ts'
import type { FaultKind, Faults } from './faults.ts'
import { Actor, type Scheduler } from './scheduler.ts'

/** The methods that change a machine; they are safe to call twice, as their contract says. */
const commands: readonly string[] = [
  'define',
  'start',
  'shutdown',
  'reset',
  'powerOff',
  'destroy',
  'snapshot',
  'importImage',
  'removeSnapshot',
  'rescue',
  'volume',
  'attachVolume',
  'detachVolume',
  'removeVolume',
  'connect',
  'setPassword',
  'setAddress',
]

/** The most by which a call is delayed after its process was cut off. */
const LATE_MS = 10 * 60_000

/** The host that all processes share, and the connections to it. */
export class Host {
  readonly actor = new Actor('host')
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  readonly #simulator: Simulator
  #older: Map<string, MachineState> | null = null
  /** The host does not answer before this time. */
  awayUntil = 0
  /** The last call of a process that was cut off arrives before this time. */
  lateUntil = 0
  /** The disk is full before this time. */
  fullUntil = 0
  /** Carries out a call, whose effect on disks the history checks. */
  around: (name: string, given: readonly unknown[], effect: () => Promise<unknown>) => Promise<unknown> = (
    _name,
    _given,
    effect,
  ) => effect()
  /** Sees each fault of a call about a machine. */
  onFault: (process: Actor, serverId: string, kind: string) => void = () => {}
  /** Ends a process whose last call will arrive after others have continued its work. */
  onLate: (process: Actor) => void = () => {}

  constructor(scheduler: Scheduler, faults: Faults, simulator: Simulator) {
    this.#scheduler = scheduler
    this.#faults = faults
    this.#simulator = simulator
  }

  /** Returns the driver of one process. A call that was sent arrives even if the process dies meanwhile. */
  driverFor(process: Actor): Driver {
    const simulator = this.#simulator
    return new Proxy<Driver>(simulator, {
      get: (_, name) => {
        if (name === 'watch')
          return (listener: (serverId: string) => void) =>
            simulator.watch((serverId) => {
              if (!process.isDead) listener(serverId)
            })
        if (name === 'close') return async () => {}
        return (...given: unknown[]) => this.#call(process, String(name), given)
      },
    })
  }

  async #call(process: Actor, name: string, given: unknown[]): Promise<unknown> {
    const [first] = given
    const id = typeof first === 'string' ? first : ''
    const happens = (kind: FaultKind): boolean => {
      const isSo = this.#faults.happens(kind)
      if (isSo) this.onFault(process, id, kind)
      return isSo
    }
    const label = typeof first === 'string' ? `${name} ${first.slice(-6)}` : name
    const faults = this.#faults
    const isLate = commands.includes(name) && happens('late_call')
    const slowMs = isLate ? LATE_MS : happens('slow_call') ? faults.delayMs(10, 120_000) : 0
    if (isLate) {
      this.lateUntil = this.#scheduler.elapsed() + slowMs + 1
      this.onLate(process)
    }
    await this.#scheduler.cross(this.actor, label, slowMs)
    this.#refuse(name, happens)
    const outcome = await this.#effect(name, given, happens)
    const answerMs = slowMs > 0 ? faults.delayMs(1, 1_000) : 0
    await this.#scheduler.cross(process, `answer of ${name}`, answerMs)
    if (happens('lost_answer')) throw away('The answer of the host was lost.')
    if ('error' in outcome) throw outcome.error
    return outcome.result
  }

  /** @throws DriverError, without an effect */
  #refuse(name: string, happens: (kind: FaultKind) => boolean): void {
    if (this.#scheduler.elapsed() < this.awayUntil) throw away('The host does not answer.')
    if (happens('lost_call')) throw away('The host was not reached.')
    const needsRoom = ['define', 'growDisk', 'snapshot', 'importImage', 'receive', 'volume'].includes(name)
    if (needsRoom && (this.#scheduler.elapsed() < this.fullUntil || happens('disk_full')))
      throw new DriverError('disk_full', 'The disk of the host is full.')
  }

  async #effect(
    name: string,
    given: unknown[],
    happens: (kind: FaultKind) => boolean,
  ): Promise<{ result: unknown } | { error: unknown }> {
    const method: unknown = Reflect.get(this.#simulator, name)
    if (typeof method !== 'function') throw new Error(`the driver has no ${name}`)
    const isTwice = commands.includes(name) && happens('double_call')
    try {
      const effect = (): Promise<unknown> => method.apply(this.#simulator, given)
      const result = await this.around(name, given, effect)
      if (isTwice) await this.around(name, given, effect)
      return { result: name === 'list' ? this.#listed() : result }
    } catch (error) {
      return { error }
    }
  }

  /** Lists the machines, sometimes as they were before. */
  async #listed(): Promise<Map<string, MachineState>> {
    const newest = await this.#simulator.list()
    const shown = this.#older && this.#faults.happens('stale_list') ? this.#older : newest
    this.#older = newest
    return shown
  }
}

function away(why: string): DriverError {
  return new DriverError('unavailable', why)
}
