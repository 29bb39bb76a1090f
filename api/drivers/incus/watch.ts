import { type MachineState, SSH_PORT } from '../driver.ts'
import { type Instance, networkOf, serverIdOf } from './instance.ts'
import { isByItself } from './instances.ts'

const HINT_MS = 100

/** A boot of a machine, as the probe of its SSH port needs it. */
export interface Boot {
  boot: number
  sshPort: number | null
  hasPasst: boolean
}

/** Notices machines that turn off by themselves. */
export class Watch {
  /** Machines that were last seen running. */
  readonly #running = new Map<string, Boot>()
  readonly #listeners = new Set<(serverId: string) => void>()
  /** Machines with a pending check, which merges all hints that arrive before it. */
  readonly #hinted = new Set<string>()
  readonly #look: (serverId: string) => Promise<unknown>
  readonly #ended: (serverId: string) => void

  /**
   * @param look reads the state of a machine, and passes it to `see`
   * @param ended called when a boot of a machine has ended
   */
  constructor(look: (serverId: string) => Promise<unknown>, ended: (serverId: string) => void) {
    this.#look = look
    this.#ended = ended
  }

  get isIdle(): boolean {
    return this.#running.size === 0
  }

  bootOf(serverId: string): Boot | undefined {
    return this.#running.get(serverId)
  }

  listen(listener: (serverId: string) => void): void {
    this.#listeners.add(listener)
  }

  /** Forgets a machine that is about to be turned off. */
  forget(serverId: string): void {
    this.#running.delete(serverId)
  }

  close(): void {
    this.#listeners.clear()
  }

  /** Records the state of a machine, and notifies the listeners if it turned off by itself. */
  see(serverId: string, instance: Instance, state: MachineState): MachineState {
    const known = this.#running.get(serverId)
    if (state.power === 'running') {
      const { ports = [] } = networkOf(instance) ?? {}
      const ssh = ports.find(({ protocol, port }) => protocol === 'tcp' && port === SSH_PORT)
      const boot = { boot: state.startedAt, sshPort: ssh?.hostPort ?? null, hasPasst: false }
      if (known && known.boot !== boot.boot) this.#ended(serverId)
      this.#running.set(serverId, Object.assign(known ?? boot, boot))
    } else if (state.power !== 'away' && this.#running.delete(serverId)) {
      this.#ended(serverId)
      if (isByItself(state)) for (const listener of this.#listeners) listener(serverId)
    }
    return state
  }

  /** Looks at an instance soon, because an event named it. */
  hint(source: string): void {
    const name = /^\/1\.0\/(?:instances|containers)\/([^/?]+)/.exec(source)?.[1] ?? ''
    const serverId = serverIdOf(name)
    if (serverId === null || !this.#running.has(serverId) || this.#hinted.has(serverId)) return
    this.#hinted.add(serverId)
    const look = async () => {
      this.#hinted.delete(serverId)
      await this.#look(serverId).catch(() => {})
    }
    setTimeout(look, HINT_MS).unref()
  }
}
