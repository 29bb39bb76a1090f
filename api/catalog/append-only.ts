import type { CpuType } from '../drivers/driver.ts'
import type { Catalog } from './file.ts'
import { isInPools } from './pools.ts'
import { type PriceEntry, sumsOf } from './prices.ts'

/** The catalogue entries that a remaining server was ordered with. */
export interface Ordered {
  zone_slug: string
  cpu_type: CpuType
  template_id: string
  preset_id: string | null
}

/** A public address, a volume, a copy of a disk, or an ISO in a drive that an account has. */
export interface Held {
  zone_slug: string
  /** The address; null for other objects. */
  address: string | null
  /** The template of a copy, which has the login of servers that are created from it. */
  template_id?: string
  /** The ISO in the drive of a server, perhaps an operator's ISO. */
  iso_id?: string | null
}

const DAY_MS = 24 * 3600_000

/**
 * Lists changes that break existing servers. Entries that servers use can be retired, but not disappear or become
 * something else, since servers are shown, resized and priced by them. Entries that no server uses are free to
 * change.
 * @param before the catalogue that was accepted last
 * @returns a sentence for each breach
 */
export function breaches(
  before: Catalog,
  after: Catalog,
  ordered: readonly Ordered[],
  held: readonly Held[],
  now: number,
): string[] {
  const isIn = (used: readonly (string | null)[]) => (id: string) => used.includes(id)
  return [
    ...brokenOffers('zone', before.zones, after.zones, {
      idOf: (zone) => zone.zone_slug,
      slugOf: (zone) => zone.zone_slug,
      isUsed: isIn([...ordered, ...held].map(({ zone_slug }) => zone_slug)),
    }),
    ...brokenOffers('template', before.templates, after.templates, {
      idOf: (template) => template.templateId,
      slugOf: (template) => template.slug,
      isUsed: isIn([...ordered, ...held].map(({ template_id }) => template_id ?? null)),
      fixed: ['default_username', (template) => template.defaultUsername],
    }),
    ...brokenOffers('preset', before.presets, after.presets, {
      idOf: (preset) => preset.presetId,
      slugOf: (preset) => preset.slug,
      isUsed: isIn(ordered.map((server) => server.preset_id)),
      fixed: ['the size', ({ cpu, ramMb, diskGb }) => `${cpu}/${ramMb}/${diskGb}`],
    }),
    ...brokenOffers('ISO', before.isos, after.isos, {
      idOf: (iso) => iso.isoId,
      slugOf: (iso) => iso.slug,
      isUsed: isIn(held.map(({ iso_id }) => iso_id ?? null)),
    }),
    ...lostAddresses(before, after, held),
    ...before.prices
      .filter(({ zoneSlug, cpuType }) =>
        ordered.some((server) => server.zone_slug === zoneSlug && server.cpu_type === cpuType),
      )
      .filter((entry) => isBroken(entry, after.prices, now))
      .map(
        ({ zoneSlug, cpuType, from }) =>
          `the price of ${zoneSlug} ${cpuType} from ${new Date(from).toISOString().slice(0, 10)} is in force, and can't be changed or removed: put it back, and add an entry with a later active_from.`,
      ),
  ]
}

/** Returns one sentence for each zone that loses addresses in use. */
function lostAddresses(before: Catalog, after: Catalog, held: readonly Held[]): string[] {
  return before.zones.flatMap(({ zone_slug }) => {
    const zone = after.zones.find((candidate) => candidate.zone_slug === zone_slug)
    const addresses = held.flatMap((one) =>
      one.zone_slug === zone_slug && one.address !== null ? [one.address] : [],
    )
    const lost = addresses.find((address) => !isInPools(zone ?? {}, address))
    if (lost === undefined) return []
    return `zone ${zone_slug} has no range with ${lost}, but an account has this address: put the range back.`
  })
}

interface Kind<T> {
  idOf: (offer: T) => string
  slugOf: (offer: T) => string
  isUsed: (id: string) => boolean
  /** The values that may not change, with their names. */
  fixed?: [name: string, valueOf: (offer: T) => string]
}

function brokenOffers<T>(
  kind: string,
  before: readonly T[],
  after: readonly T[],
  { idOf, slugOf, isUsed, fixed }: Kind<T>,
): string[] {
  return before.flatMap((offer) => {
    if (!isUsed(idOf(offer))) return []
    const found = after.find((candidate) => idOf(candidate) === idOf(offer))
    if (!found)
      return `${kind} ${slugOf(offer)} is missing, but it is in use: put it back, with "retired: true" to stop selling it.`
    if (!fixed || fixed[1](found) === fixed[1](offer)) return []
    return `${fixed[0]} of ${kind} ${slugOf(offer)} can't change while servers use it: add another ${kind} instead.`
  })
}

/** Prices become final once they have been in force for a day; until then a mistake can be corrected. */
function isBroken(
  { zoneSlug, cpuType, from, existingFrom, prices }: PriceEntry,
  after: readonly PriceEntry[],
  now: number,
): boolean {
  if (from > now - DAY_MS) return false
  const found = after.find(
    (other) => other.zoneSlug === zoneSlug && other.cpuType === cpuType && other.from === from,
  )
  if (!found || sumsOf(found.prices) !== sumsOf(prices)) return true
  return existingFrom !== null && existingFrom <= now && found.existingFrom !== existingFrom
}
