import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError, type MachineState } from '../driver.ts'
import { at, type IncusClient } from './client.ts'
import { IncusError } from './errors.ts'
import { type Instance, nameOf, stateOf } from './instance.ts'
import type { Members } from './members.ts'
import type { Operations } from './operations.ts'

/** The number of attempts at a write if the instance was changed by another process. */
const TRIES = 4
const RETRY_MS = 100
/** The time that a command in a guest may take. */
const EXEC_MS = 10_000

/** Reads and changes the instances of a project. */
export class Instances {
  readonly #client: IncusClient
  readonly #operations: Operations
  readonly #members: Members
  readonly #project: string

  constructor(client: IncusClient, operations: Operations, members: Members, project: string) {
    this.#client = client
    this.#operations = operations
    this.#members = members
    this.#project = project
  }

  list(): Promise<Instance[]> {
    const project = this.#project
    return this.#client.get<Instance[]>(at('/1.0/instances', { project, recursion: '1' }))
  }

  /** Reads from the list, because a request for the instance itself waits for its member, which may be down. */
  async find(serverId: string): Promise<Instance | null> {
    const project = this.#project
    const query = { project, recursion: '1', filter: `name eq ${nameOf(serverId)}` }
    const [found] = await this.#client.get<Instance[]>(at('/1.0/instances', query))
    return found ?? null
  }

  /** @throws DriverError not_found; IncusError if its member does not answer */
  async get(serverId: string): Promise<Instance> {
    const instance = await this.find(serverId)
    if (!instance) throw new DriverError('not_found', 'The machine does not exist.')
    if (instance.config === null) throw new IncusError(0, 'The member of the machine does not answer')
    return instance
  }

  /**
   * Reads and changes an instance; null changes nothing. Retries after a concurrent change, because a change of its
   * cards could otherwise undo one of its volumes.
   */
  async write(serverId: string, change: (instance: Instance) => object | null): Promise<void> {
    for (let tries = 1; ; tries++) {
      // This read fails early if the member is down; the next one would hang.
      await this.get(serverId)
      const { value, tag } = await this.#client.tagged<Instance>(this.path(serverId))
      const body = change(value)
      if (body === null) return
      const headers = tag === undefined ? {} : { 'if-match': tag }
      try {
        await this.#operations.run('PUT', this.path(serverId), { body, headers })
        return
      } catch (error) {
        const isOthers =
          error instanceof IncusError && (error.refusal === 'changed' || error.refusal === 'busy')
        if (!isOthers || tries === TRIES) throw error
        await sleep(RETRY_MS * 2 ** tries)
      }
    }
  }

  power(serverId: string, body: { action: string; force?: boolean }) {
    return this.#operations.run('PUT', this.path(serverId, '/state'), { body: { timeout: 30, ...body } })
  }

  /** Runs a script as root of a running guest. @throws DriverError unavailable if it fails */
  async execute(serverId: string, script: string, environment: Record<string, string> = {}): Promise<void> {
    if (stateOf(await this.get(serverId)).power !== 'running')
      throw new DriverError('not_found', 'The machine is off.')
    const command = ['sh', '-c', script]
    const body = { command, environment, interactive: false, 'wait-for-websocket': false }
    const path = this.path(serverId, '/exec')
    const operation = await this.#operations.run('POST', path, { body, waitMs: EXEC_MS })
    if (operation?.metadata?.return !== 0)
      throw new DriverError('unavailable', 'The guest did not carry out a script')
  }

  path(serverId: string, part = ''): string {
    return at(`/1.0/instances/${nameOf(serverId)}${part}`, { project: this.#project })
  }

  /** The state of a machine. While members are evacuated or restored, a machine that is off may be moving. */
  async settled(serverId: string, instance: Instance): Promise<MachineState> {
    const state = stateOf(instance)
    if (!isByItself(state)) return state
    const shown = (await this.moves())(instance, state)
    if (shown !== state) return shown
    const again = await this.find(serverId)
    return again ? stateOf(again) : { power: 'absent' }
  }

  /**
   * Finds members that are evacuated, or being evacuated or restored: machines stopped there start again with the
   * restore.
   * @returns a function that corrects the state of a machine accordingly
   */
  async moves(): Promise<(instance: Instance, state: MachineState) => MachineState> {
    const path = at('/1.0/operations', { recursion: '1', 'all-projects': 'true' })
    const byStatus = await this.#client.get<Record<string, { description: string }[]>>(path)
    const { pending = [], running = [] } = byStatus
    const isMoving = [...pending, ...running].some(({ description }) =>
      /evacuat|restor.*member/i.test(description),
    )
    const evacuated = await this.#members.evacuated()
    return ({ location }, state) => {
      const isAway = isByItself(state) && (isMoving || evacuated.includes(location))
      return isAway ? { power: 'away', isMoving } : state
    }
  }
}

/** True if the machine turned off by itself. */
export function isByItself(state: MachineState): boolean {
  return state.power === 'stopped' && state.reason !== null
}
