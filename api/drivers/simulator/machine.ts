import { DriverError, type MachineSpec, type MachineState, type ServerNetwork } from '../driver.ts'
import type { SharedStore } from '../module.ts'

/** A simulated machine, as it is stored. */
export interface Machine {
  spec: Omit<MachineSpec, 'password' | 'userData'>
  /** Missing: it was never connected. */
  network?: ServerNetwork
  diskGb: number
  isOn: boolean
  startedAt: number
  readyAt: number
  /** The time at which the guest obeys the power button; null: nobody pressed it. */
  offAt: number | null
  stopReason: 'guest_shutdown' | 'crashed' | null
}

/** A store of machines that several processes share. */
export interface MachineStore {
  /** @param serverIds (default: all) */
  load(serverIds?: readonly string[]): Promise<Map<string, Machine>>
  /** Changes, creates or deletes a machine; no other process changes it meanwhile. */
  change(serverId: string, change: (machine: Machine | undefined) => Machine | undefined): Promise<void>
}

/** @throws DriverError not_found */
export function known(machine: Machine | undefined): Machine {
  if (!machine) throw new DriverError('not_found', 'The machine does not exist.')
  return machine
}

export function stateOf(machine: Machine | undefined): MachineState {
  if (!machine) return { power: 'absent' }
  return machine.isOn
    ? { power: 'running', startedAt: machine.startedAt }
    : { power: 'stopped', reason: machine.stopReason }
}

/** The machines that a store of the installation holds. */
export function machinesIn(shared: SharedStore): MachineStore {
  return {
    load: async (serverIds) =>
      new Map([...(await shared.load(serverIds))].map(([id, text]) => [id, parsed(text)])),
    change: (serverId, change) =>
      shared.change(serverId, (text) => {
        const after = change(text === undefined ? undefined : parsed(text))
        return after && JSON.stringify(after)
      }),
  }
}

/** Only the simulator writes its machines. */
function parsed(text: string): Machine {
  const machine: Machine = JSON.parse(text)
  return machine
}
