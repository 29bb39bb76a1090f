import { readFileSync } from 'node:fs'
import { parseCatalog } from '../../api/catalog/file.ts'
import { Chance } from './chance.ts'
import { drawRates, type Rates } from './faults.ts'
import { duties } from './operator.ts'
import { type ActName, acts } from './requests.ts'

const HOUR = 3600_000

/** Events that hit the installation as a whole, besides the faults of single calls. */
export const blows = [
  'kill',
  'pause',
  'host_away',
  'full',
  'receivers_away',
  'crash',
  'shutdown',
  'collide',
  'deaf',
  'clock_ahead',
  'clock_back',
  'write',
  'provider_away',
  'pay_back',
  ...duties,
  'none',
] as const
export type Blow = (typeof blows)[number]

/** The configuration that a seed draws. */
export interface Setup {
  /** True: a tour of all acts, one by one. */
  isTour: boolean
  /** True: each act of the tour meets one fault. */
  isRough: boolean
  processes: number
  customers: number
  moments: number
  moves: number
  /** The least time that loops sleep, as on a busy machine. */
  lazyMs: number
  rates: Rates
  acts: Record<ActName, number>
  blows: Record<Blow, number>
  prices: 'plain' | 'priced'
  checkEvery: number
  isPoor: boolean
  /** True if each account begins with trial credit. */
  hasTrial: boolean
  /** The share of acts that a member carries out, rather than a token. */
  ofMembers: number
  keepSuspendedMs: number | null
  graceMs: number
  sampleSeconds: number
  saveEveryMs: number
}

export function drawSetup(seed: number): Setup {
  const chance = new Chance(seed, 3)
  const some = <Name extends string>(names: readonly Name[], missing: number) =>
    Object.fromEntries(
      names.map((name) => [name, chance.is(missing) ? 0 : (chance.pick([0.3, 1, 1, 3]) ?? 1)]),
    ) as Record<Name, number> // by the names that were given
  // Histories with fewer kinds of acts test more of each.
  const weights = some(Object.keys(acts) as ActName[], chance.pick([0.25, 0.6]) ?? 0.25)
  const clock = chance.is(0.3) ? 0.3 : 0
  const isTour = seed % 5 === 1 || seed % 5 === 3
  const drawn = {
    isTour,
    isRough: seed % 5 === 3,
    processes: chance.pick([1, 2, 2, 3]) ?? 2,
    customers: chance.between(2, 4),
    moments: chance.between(8, 24),
    moves: chance.pick([10, 20, 40]) ?? 20,
    lazyMs: chance.pick([250, 1_000, 2_000, 5_000]) ?? 250,
    rates: drawRates(chance),
    acts: { ...weights, order: Math.max(3, 2 * weights.order), start: Math.max(0.5, weights.start) },
    blows: {
      ...some(blows, 0.25),
      none: chance.pick([15, 60]) ?? 15,
      ...{ clock_ahead: clock, clock_back: clock },
      deplete: chance.is(0.3) ? 0.3 : 0,
    },
    prices: chance.pick(['plain', 'priced']) ?? 'plain',
    checkEvery: chance.pick([1, 10, 50]) ?? 10,
    isPoor: chance.is(0.4),
    ofMembers: chance.pick([0, 0.2, 0.6]) ?? 0,
    keepSuspendedMs: chance.is(0.5) ? chance.between(1, 72) * HOUR : null,
    graceMs: chance.between(0, 30) * HOUR,
    sampleSeconds: 60,
    saveEveryMs: chance.pick([0, 250, 1e9]) ?? 250,
    hasTrial: chance.is(0.5),
  } satisfies Setup
  return isTour ? { ...drawn, ...forTours(drawn) } : drawn
}

/** A tour needs money, prices for everything, processes that take over, and servers that are kept. */
function forTours({ processes, keepSuspendedMs }: Setup): Partial<Setup> {
  const kept = keepSuspendedMs === null ? null : 100 * HOUR + keepSuspendedMs
  return { processes: Math.max(2, processes), prices: 'priced', isPoor: false, keepSuspendedMs: kept }
}

/** The seller takes bank transfers, and issues no documents in the months that are simulated. */
const SELLER = `operator:
  seller:
    name: Example LLC
    address: 1 Main Street
    tax_id: "7700000000"
    first_month: 2030-01
    bank: { name: Example Bank, account: "40702810900000000001", bic: "044525000" }
`
const catalogText = SELLER + readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')

/** The catalogue of the installation. */
export function catalogOf({ prices, isTour }: Setup) {
  // Most months run out of addresses; the orders of a tour need some.
  const ipv4 = `203.0.113.0/${isTour ? 24 : 28}`
  const ranges = `public_ipv4: [${ipv4}]\n    public_ipv6: 2001:db8::/56\n    overcommit:`
  const copies = 'snapshot_gb_month_rub: "3.00", backups_percent: 20,'
  const extra = `disk_gb_month_rub: "6.00", ipv4_month_rub: "150.00", ${copies}`
  const text = catalogText.replace('overcommit:', ranges)
  const plain = 'disk_gb_month_rub: "6.00",'
  return parseCatalog(prices === 'priced' ? text.replaceAll(plain, extra) : text, 'catalog.yaml')
}
