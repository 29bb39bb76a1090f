import { actions, statuses } from '../../api/servers/states.ts'

const boot = ['image', 'make', 'boot', 'ready']
const off = ['shutdown', 'wait_off', 'power_off', 'off']
const anew = ['prepare', 'erase', 'make', 'boot', 'ready']
/** The steps of each type of operation. */
export const steps: Readonly<Record<string, readonly string[]>> = {
  create: boot,
  start: boot,
  stop: off,
  reboot: ['reset', ...off, ...boot],
  resize: ['define', 'grow'],
  rebuild: anew,
  restore: anew,
  snapshot: ['copy'],
  backup: ['copy'],
  import: ['import'],
  rescue: ['prepare', ...off, ...boot],
  unrescue: [...off, ...boot],
  attach_volume: ['attach'],
  detach_volume: ['detach'],
  resize_volume: ['grow'],
  delete_volume: ['remove'],
  reset_password: ['set'],
  delete: ['destroy'],
  attach_network: ['connect', 'address'],
  detach_network: ['connect'],
}

/** The moments of a step at which a process can die or pause. */
const moments = ['before', 'after', 'saved'] as const
const stops = ['kill', 'pause'] as const
/** Faults of a call to the host. */
const calls = ['lost_call', 'lost_answer', 'double_call', 'slow_call'] as const

/** All pairs to reach: each action in each status, and each step with each fault at each moment. */
export const pairs: readonly string[] = [
  ...statuses.flatMap((status) =>
    actions.filter((action) => action !== 'console').map((action) => pairOf(status, action)),
  ),
  ...Object.entries(steps).flatMap(([type, names]) =>
    names.flatMap((step) => [
      ...stops.flatMap((stop) => moments.map((moment) => stepPair(type, step, stop, moment))),
      ...calls.map((call) => stepPair(type, step, call, 'during')),
    ]),
  ),
]

export function pairOf(status: string, action: string): string {
  return `${action} of a server that is ${status}`
}

export function stepPair(type: string, step: string, fault: string, moment: string): string {
  return `${type}.${step}: ${fault} ${moment}`
}
