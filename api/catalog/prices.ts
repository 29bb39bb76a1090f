import type { CpuType } from '../drivers/driver.ts'
import { formatMoney } from '../money.ts'

/** Units a month. */
export interface Prices {
  cpu: number
  ramGb: number
  diskGb: number
  /** A public IPv4 address. */
  ipv4: number
  /** A GB of a snapshot or an image. */
  snapshotGb: number
  /** A GB of a volume. */
  volumeGb: number
  /** Backups of a server, in percent of its price. */
  backupsPercent: number
  /** A TB sent beyond the traffic of a plan. */
  trafficTb: number
  /** Prices of presets that have their own, by slug; the others cost the sum of their parts. */
  presets: ReadonlyMap<string, number>
}

/** Prices of a zone and CPU type, from a moment until their next entry. */
export interface PriceEntry {
  zoneSlug: string
  cpuType: CpuType
  from: number
  /** The time from which existing servers pay these prices, too; null: they keep their own. */
  existingFrom: number | null
  /** True if the operator has confirmed a large difference from the prices in force. */
  isLargeChange: boolean
  prices: Prices
}

/** The prices at a moment; null if the zone does not sell this CPU type then. */
export function pricesAt(
  entries: readonly PriceEntry[],
  zoneSlug: string,
  cpuType: CpuType,
  at: number,
): Prices | null {
  const started = entriesOf(entries, zoneSlug, cpuType).filter((entry) => entry.from <= at)
  return started.at(-1)?.prices ?? null
}

/** Returns the prices of objects without a CPU type, such as addresses: those of the zone's first CPU type. */
export function zonePricesAt(
  entries: readonly PriceEntry[],
  zone: { zone_slug: string; cpu_types: readonly CpuType[] },
  at: number,
): Prices | null {
  const [cpuType = 'amd'] = zone.cpu_types
  return pricesAt(entries, zone.zone_slug, cpuType, at)
}

/** Returns the entries of one zone and CPU type, oldest first. */
function entriesOf(entries: readonly PriceEntry[], zoneSlug: string, cpuType: CpuType): PriceEntry[] {
  return entries
    .filter((entry) => entry.zoneSlug === zoneSlug && entry.cpuType === cpuType)
    .sort((a, b) => a.from - b.from)
}

/** A part that costs more a month, in units, is a misplaced decimal point. */
const ABSURD_PART = 100_000_000
const ABSURD_PRESET = 100_000_000_000

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)

/**
 * Lists the faults of well-formed prices: two entries for one day, days without a price, absurd sums.
 * @param now to find items without a price today
 * @returns a sentence for each fault, with its number in the list or its zone
 */
export function priceFaults(
  entries: readonly PriceEntry[],
  zones: readonly { zone_slug: string; cpu_types: readonly CpuType[] }[],
  presetSlugs: readonly string[],
  now: number,
): [pointer: string, message: string][] {
  const faults = entries.flatMap((entry, at) =>
    faultsOf(entry, entries, presetSlugs).map((message): [string, string] => [`/prices/${at}`, message]),
  )
  const gaps = zones.flatMap(({ zone_slug, cpu_types }, at) =>
    cpu_types.flatMap((cpuType): [string, string][] => {
      const [first] = entriesOf(entries, zone_slug, cpuType)
      const place = `/zones/${at}`
      if (!first) return [[place, `zone ${zone_slug} offers ${cpuType}, but prices has no entry for it.`]]
      if (first.from <= now) return []
      return [
        [place, `zone ${zone_slug} offers ${cpuType}, but it has no price before ${dayOf(first.from)}.`],
      ]
    }),
  )
  return [...faults, ...gaps]
}

function faultsOf(entry: PriceEntry, all: readonly PriceEntry[], presetSlugs: readonly string[]): string[] {
  const { zoneSlug, cpuType, from, existingFrom, prices } = entry
  const name = `${zoneSlug} ${cpuType}`
  const faults: string[] = []
  if (all.find((other) => isSameDay(other, entry)) !== entry)
    faults.push(`${name} has two entries that are active from ${dayOf(from)}; keep one.`)
  if (existingFrom !== null && existingFrom < from)
    faults.push(`existing_from (${dayOf(existingFrom)}) is before active_from (${dayOf(from)}).`)
  for (const slug of prices.presets.keys())
    if (!presetSlugs.includes(slug)) faults.push(`no such preset: ${slug}.`)
  const sums = [
    ['cpu_month_rub', prices.cpu, ABSURD_PART],
    ['ram_gb_month_rub', prices.ramGb, ABSURD_PART],
    ['disk_gb_month_rub', prices.diskGb, ABSURD_PART],
    ['ipv4_month_rub', prices.ipv4, ABSURD_PART],
    ['snapshot_gb_month_rub', prices.snapshotGb, ABSURD_PART],
    ['volume_gb_month_rub', prices.volumeGb, ABSURD_PART],
    ['traffic_tb_rub', prices.trafficTb, ABSURD_PART],
    ...[...prices.presets].map(([slug, sum]) => [slug, sum, ABSURD_PRESET] as const),
  ] as const
  for (const [field, sum, limit] of sums)
    if (sum > limit)
      faults.push(`${field} is ${formatMoney(sum)}: more than ${formatMoney(limit)} is probably a typo.`)
  return faults
}

/** The amounts as a text, to compare them. */
export function sumsOf({ presets, ...prices }: Prices): string {
  return JSON.stringify([Object.entries(prices).sort(), [...presets].sort()])
}

function isSameDay(a: PriceEntry, b: PriceEntry): boolean {
  return a.zoneSlug === b.zoneSlug && a.cpuType === b.cpuType && a.from === b.from
}
