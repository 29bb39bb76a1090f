import { faultKinds } from './faults.ts'
import type { Outcome } from './outcome.ts'
import { pairs, steps } from './pairs.ts'
import { acts } from './requests.ts'
import { blows } from './setup.ts'

const ENDS = ['succeeded', 'failed', 'canceled']

/** Situations that some histories must reach, because a situation that never occurs is not tested. */
const points: readonly string[] = [
  ...Object.keys(acts).map((act) => `${act} succeeds`),
  ...Object.keys(acts).map((act) => `${act} is refused`),
  ...blows.filter((blow) => blow !== 'none').map((blow) => `blow: ${blow}`),
  ...faultKinds.filter((kind) => kind !== 'kill' && kind !== 'pause').map((kind) => `fault: ${kind}`),
  ...Object.keys(steps).flatMap((type) => ENDS.map((end) => `${type} ${end}`)),
  ...['running', 'stopped', 'suspended', 'error', 'deleting'].map((status) => `a server becomes ${status}`),
  'a server moves to another account',
  'a bank transfer is booked',
  'a credit expires',
  'a process died during POST',
  'a process could not start',
  'a request was sent twice at once',
  'a request was repeated and answered',
  'a key got the same reply again',
  'log: a process does not respond; others take over its work',
  'log: the machine of a server died',
  'log: a step failed',
  'log: a step failed for the last time: its operation fails',
  'log: a host does not answer; waiting for it',
  'log: the state of an operation could not be saved; trying again',
  'log: events could not be published; trying again',
  'log: billing failed; trying again',
]

/** Situations that only PostgreSQL has. */
const onPostgres: readonly string[] = [
  'a statement waits for a lock',
  'a lock is waited for too long',
  'transactions wait for each other',
  'a session is ended within its transaction',
  'a dead process leaves a statement that waits',
  'the database fails over',
]

/** The points and pairs that some histories reached. */
export class Points {
  readonly #reached = new Map<string, number>()
  readonly #points: readonly string[]

  constructor({ isOnPostgres }: { isOnPostgres: boolean }) {
    this.#points = isOnPostgres ? [...points, ...onPostgres] : points
  }

  add({ sometimes }: Outcome): void {
    for (const [point, count] of sometimes) this.#reached.set(point, (this.#reached.get(point) ?? 0) + count)
  }

  get summary(): string {
    const reached = (all: readonly string[]) => all.filter((one) => this.#reached.has(one)).length
    return `${reached(this.#points)} of ${this.#points.length} sometimes and ${reached(pairs)} of ${pairs.length} pairs reached`
  }

  /** Lists the points that were reached and how often, then those that were not. */
  lines(): string[] {
    const all = [...this.#points, ...pairs]
    const reached = all.filter((one) => this.#reached.has(one))
    const missed = all.filter((one) => !this.#reached.has(one))
    return [
      ...reached.map((one) => `${this.#reached.get(one)} × ${one}`),
      ...missed.map((one) => `never reached: ${one}`),
    ]
  }
}
