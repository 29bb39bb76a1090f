import { Chance } from './chance.ts'

/** The kinds of faults, each with the probability that a crossing of its seam has it. */
export const faultKinds = [
  'slow_call',
  'lost_call',
  'lost_answer',
  'double_call',
  'disk_full',
  'stale_list',
  'database_away',
  'lost_commit',
  'slow_statement',
  'receiver_fails',
  'receiver_hangs',
  'provider_fails',
  'provider_answer_lost',
  'mail_fails',
  'lost_bell',
  // These faults hit one act at a time; months have blows of their own.
  'late_call',
  'failover',
  'kill',
  'pause',
] as const
export type FaultKind = (typeof faultKinds)[number]
export type Rates = Readonly<Record<FaultKind, number>>

/** Draws the faults of a history until faults are stopped. */
export class Faults {
  #chance: Chance
  readonly #rates: Rates
  isOn = false
  #aim: { kind: FaultKind; at: number } | null = null
  #seen = 0
  /** The number of faults so far, by kind. */
  readonly counts = new Map<FaultKind, number>()

  constructor(rates: Rates) {
    this.#rates = rates
    this.#chance = new Chance(0)
  }

  reseed(...seeds: number[]): void {
    this.#chance = new Chance(...seeds)
  }

  /** Allows only one kind from here on, at its given opportunity. */
  aim(kind: FaultKind, at: number): void {
    this.#aim = { kind, at }
    this.#seen = 0
    this.isOn = true
  }

  /** Stops all faults. */
  rest(): void {
    this.#aim = null
    this.isOn = false
  }

  /** True once the aimed fault has happened. */
  get hasHit(): boolean {
    return this.#aim !== null && this.#seen > this.#aim.at
  }

  /** True if statements are slow or fail, and leases may not be renewed in time. */
  get disturbsDatabase(): boolean {
    if (this.#aim) return ['database_away', 'lost_commit', 'failover'].includes(this.#aim.kind)
    const { database_away, lost_commit, slow_statement } = this.#rates
    return this.isOn && database_away + lost_commit + slow_statement > 0
  }

  happens(kind: FaultKind): boolean {
    if (this.#aim) {
      if (!this.isOn || this.#aim.kind !== kind) return false
      this.#seen += 1
      if (this.#seen === this.#aim.at + 1) this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
      return this.#seen === this.#aim.at + 1
    }
    if (!this.isOn || !this.#chance.is(this.#rates[kind])) return false
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
    return true
  }

  /** Draws a property of a fault with this probability. */
  is(probability: number): boolean {
    return this.#chance.is(probability)
  }

  /** Draws a delay between two bounds, mostly a short one; an aimed fault has a long one. */
  delayMs(least: number, most: number): number {
    if (this.#aim) return Math.round(most / 4 + this.#chance.next() * (most - most / 4))
    return Math.round(least * (most / least) ** this.#chance.next())
  }
}

/** Faults that can happen at each statement of a process. */
const stops = ['kill', 'pause', 'lost_commit', 'database_away', 'failover'] as const

/** Draws a fault, preferably a favourite, and its opportunity, which is an early one for the rare calls to the host. */
export function drawAim(
  chance: Chance,
  favourites: readonly FaultKind[] = [],
): { fault: FaultKind; at: number } {
  const favourite = chance.is(0.6) ? chance.pick(favourites) : undefined
  if (favourite !== undefined)
    return {
      fault: favourite,
      at: Math.floor(2 ** (chance.next() * (stops.some((stop) => stop === favourite) ? 8 : 2))) - 1,
    }
  const isStop = chance.is(0.5)
  const fault = isStop
    ? chance.pick(stops)
    : chance.pick([
        ...(['late_call', 'late_call', 'lost_call', 'lost_answer', 'double_call'] as const),
        ...(['slow_call', 'disk_full', 'receiver_fails', 'provider_fails', 'provider_answer_lost'] as const),
      ])
  return { fault: fault ?? 'kill', at: Math.floor(2 ** (chance.next() * (isStop ? 8 : 3))) - 1 }
}

/** Draws the kinds of faults of a history and their rates: some histories have a single kind, very often. */
export function drawRates(chance: Chance): Rates {
  const share = chance.pick([0, 0.15, 0.4, 0.8]) ?? 0
  const rate = () => (chance.is(share) ? (chance.pick([0.002, 0.01, 0.05, 0.2]) ?? 0) : 0)
  // If a fifth of all statements took the database down, nothing would make progress.
  const rare = () => Math.min(rate(), 0.004)
  return {
    slow_call: rate(),
    lost_call: rate(),
    lost_answer: rate(),
    double_call: rate(),
    disk_full: rate(),
    stale_list: rate(),
    database_away: rare(),
    lost_commit: rare(),
    slow_statement: rare(),
    receiver_fails: rate(),
    receiver_hangs: rate(),
    provider_fails: rate(),
    provider_answer_lost: rate(),
    mail_fails: rate(),
    lost_bell: rate(),
    late_call: 0,
    failover: 0,
    kill: 0,
    pause: 0,
  }
}
