import type { CpuType } from '../drivers/driver.ts'
import { formatMoney } from '../money.ts'
import type { Catalog } from './file.ts'
import { presetMonth } from './plans.ts'
import { type PriceEntry, type Prices, pricesAt, sumsOf } from './prices.ts'

/**
 * A price that rises or falls by more than this factor counts as a mistake, unless its entry has
 * large_change.
 */
const LARGE = 2

/** The servers that pay prices of a zone and CPU type, and their accounts. */
export interface Payers {
  zone_slug: string
  cpu_type: CpuType
  servers: number
  accounts: number
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)
const nameOf = ({ zoneSlug, cpuType, from }: PriceEntry) => `${zoneSlug} ${cpuType} from ${dayOf(from)}`
const isSame = (a: PriceEntry, b: PriceEntry) => a.zoneSlug === b.zoneSlug && a.cpuType === b.cpuType

/**
 * Lists new and changed prices that differ so much from earlier ones that they are probably mistakes.
 * @param before the catalogue that was accepted last; null: none
 * @returns a sentence for each entry
 */
export function largeChanges(
  before: Catalog | null,
  after: Catalog,
  used: readonly { zone_slug: string; cpu_type: CpuType }[],
): string[] {
  const prices = changedEntries(before, after).flatMap((entry) => {
    if (entry.isLargeChange) return []
    const isUsed = used.some((one) => one.zone_slug === entry.zoneSlug && one.cpu_type === entry.cpuType)
    // Prices that no server pays can be corrected freely.
    const replaced = isUsed ? inForce(before, entry) : null
    const bases = [...(replaced ? [replaced] : []), ...earlier(after, entry)]
    const large = bases.flatMap((base) =>
      amounts(after, base, entry.prices).filter(({ from, to }) => isLarge(from, to, entry)),
    )
    if (large.length === 0) return []
    const texts = [...new Set(large.map(inWords))].join(', ')
    return `the price of ${nameOf(entry)} changes more than twofold: ${texts}. If that is meant, add "large_change: true" to the entry.`
  })
  return [...prices, ...largeRate(before, after)]
}

/** A mistake in the rate would affect each payment that the provider settles in the currency. */
function largeRate(before: Catalog | null, { operator }: Catalog): string[] {
  const [from, to] = [before?.operator.secondCurrency, operator.secondCurrency]
  if (!from || !to || from.code !== to.code || to.isLargeChange) return []
  if (to.rate <= from.rate * LARGE && to.rate * LARGE >= from.rate) return []
  return [
    `the price of ${to.code} changes more than twofold: from ${from.rubles} to ${to.rubles}. If that is meant, add "large_change: true" to second_currency.`,
  ]
}

function isLarge(from: number, to: number, { existingFrom }: PriceEntry): boolean {
  // A first price for something free is only large if customers who have it must pay, too.
  if (from === 0) return to > 0 && existingFrom !== null
  return to > from * LARGE || to * LARGE < from
}

/** The prices that were in force at the time of an entry. */
function inForce(before: Catalog | null, { zoneSlug, cpuType, from }: PriceEntry): Prices | null {
  return before && pricesAt(before.prices, zoneSlug, cpuType, from)
}

/** The prices that servers pay before an entry: the last ones and, if existing servers move, all that some still pay. */
function earlier({ prices }: Catalog, entry: PriceEntry): Prices[] {
  const past = prices
    .filter((other) => isSame(other, entry) && other.from < entry.from)
    .sort((a, b) => a.from - b.from)
  const start = entry.existingFrom === null ? -1 : past.findLastIndex((other) => other.existingFrom !== null)
  const paid = entry.existingFrom === null ? past.slice(-1) : past.slice(Math.max(0, start))
  return paid.map((other) => other.prices)
}

function changedEntries(before: Catalog | null, after: Catalog): PriceEntry[] {
  const known = before?.prices ?? []
  return after.prices.filter(
    (entry) =>
      !known.some(
        (old) =>
          isSame(old, entry) &&
          old.from === entry.from &&
          old.existingFrom === entry.existingFrom &&
          sumsOf(old.prices) === sumsOf(entry.prices),
      ),
  )
}

interface Change {
  name: string
  from: number
  to: number
}

const inWords = ({ name, from, to }: Change) => `${name} ${formatMoney(from)} to ${formatMoney(to)}`

/** The amounts that differ between two prices, of parts and of presets. */
function amounts({ presets }: Catalog, from: Prices, to: Prices): Change[] {
  const all = [
    { name: 'cpu', from: from.cpu, to: to.cpu },
    { name: 'ram_gb', from: from.ramGb, to: to.ramGb },
    { name: 'disk_gb', from: from.diskGb, to: to.diskGb },
    { name: 'ipv4', from: from.ipv4, to: to.ipv4 },
    { name: 'volume_gb', from: from.volumeGb, to: to.volumeGb },
    { name: 'traffic_tb', from: from.trafficTb, to: to.trafficTb },
    ...presets.map((preset) => ({
      name: preset.slug,
      from: presetMonth(preset, from),
      to: presetMonth(preset, to),
    })),
  ]
  return all.filter((one) => one.from !== one.to)
}

/**
 * Describes how a catalogue differs from the one in force, and how many servers and accounts its prices
 * affect.
 * @returns a line for each difference
 */
export function differences(before: Catalog, after: Catalog, payers: readonly Payers[]): string[] {
  const lost = before.prices.filter(
    (old) => !after.prices.some((entry) => isSame(old, entry) && old.from === entry.from),
  )
  return [
    ...offers('zone', before.zones, after.zones, (zone) => zone.zone_slug),
    ...offers('template', before.templates, after.templates, (template) => template.slug),
    ...offers('ISO', before.isos, after.isos, (iso) => iso.slug),
    ...offers('preset', before.presets, after.presets, (preset) => preset.slug),
    ...(JSON.stringify(before.limits) === JSON.stringify(after.limits) ? [] : ['limits: changed']),
    ...lost.map((entry) => `price of ${nameOf(entry)}: removed`),
    ...changedEntries(before, after).map((entry) => {
      const [base] = [inForce(before, entry), ...earlier(after, entry)].filter((prices) => prices !== null)
      const changed = base ? amounts(after, base, entry.prices).map(inWords) : ['the first']
      return `price of ${nameOf(entry)}: ${changed.join(', ') || 'the same amounts'}; ${met(entry, payers)}`
    }),
  ]
}

function met(entry: PriceEntry, payers: readonly Payers[]): string {
  const found = payers.find((one) => one.zone_slug === entry.zoneSlug && one.cpu_type === entry.cpuType)
  const who = `${counted(found?.servers ?? 0, 'existing server')} of ${counted(found?.accounts ?? 0, 'account')}`
  return entry.existingFrom === null
    ? `for new orders only, ${who} keep theirs`
    : `from ${dayOf(entry.existingFrom)} also for ${who}`
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function offers<T>(kind: string, before: readonly T[], after: readonly T[], slugOf: (offer: T) => string) {
  const olds = new Map(before.map((offer) => [slugOf(offer), JSON.stringify(offer)]))
  const news = new Map(after.map((offer) => [slugOf(offer), JSON.stringify(offer)]))
  return [
    ...[...olds.keys()].filter((slug) => !news.has(slug)).map((slug) => `${kind} ${slug}: removed`),
    ...[...news].flatMap(([slug, text]) => {
      if (!olds.has(slug)) return `${kind} ${slug}: added`
      return olds.get(slug) === text ? [] : `${kind} ${slug}: changed`
    }),
  ]
}
