import type { Limits, Preset, Template, Zone } from '../catalog/schema.ts'
import type { Server } from '../servers/schema.ts'
import { missing } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { Shown } from './numbers.ts'

const GB = 1e9
/** The category of all server types. */
export const CATEGORY = 'Shared vCPU'

/** The offers of an installation, as /v1 lists them. */
interface Catalogue {
  zones: readonly Zone[]
  templates: readonly Template[]
  /** By zone: the presets at the price of its first CPU type. */
  presets: ReadonlyMap<string, readonly Preset[]>
  /** One server of each kind that was shown, with the JSON text of the fields that its kind shares. */
  kinds: { server: Server; text: string }[]
}

async function readCatalogue(x: Exchange): Promise<Catalogue> {
  const zones = await x.v1<Zone[]>('listZones')
  const presets = await Promise.all(
    zones.map(async ({ zone_slug, cpu_types }) => {
      const query = { zone_slug, cpu_type: cpu_types[0] ?? 'amd' }
      return [zone_slug, await x.v1<Preset[]>('listPresets', { query })] as const
    }),
  )
  const templates = await x.v1<Template[]>('listTemplates')
  return { zones, presets: new Map(presets), templates, kinds: [] }
}

/** Returns the installation's offers for this reply. */
export async function offersOf(x: Exchange): Promise<Offers> {
  return new Offers(x, await x.shared(`catalogue ${x.terms}`, () => readCatalogue(x)))
}

/** Returns a price in rubles; Berth's prices are final, so net and gross are equal. */
export const price = (rubles: string) => ({ net: rubles, gross: rubles })

/** The catalogue in one reply: zones are locations, each with one datacenter, and presets are server types. */
export class Offers {
  readonly #x: Exchange
  readonly catalogue: Catalogue

  constructor(x: Exchange, catalogue: Catalogue) {
    this.#x = x
    this.catalogue = catalogue
  }

  location(slug: string) {
    const zone = this.catalogue.zones.find(({ zone_slug }) => zone_slug === slug)
    return {
      id: this.#x.ref('location', slug),
      name: slug,
      description: zone?.title ?? slug,
      country: zone?.country_code ?? 'ZZ',
      city: zone?.city ?? '',
      latitude: 0,
      longitude: 0,
      network_zone: slug,
    }
  }

  datacenter(slug: string) {
    const presets = this.catalogue.presets.get(slug) ?? []
    const refs = (some: readonly Preset[]): Shown[] =>
      some.map(({ preset_id }) => this.#x.ref('server_type', preset_id))
    const supported = refs(presets)
    const available = refs(presets.filter(({ is_available }) => is_available))
    return {
      id: this.#x.ref('datacenter', slug),
      name: datacenterName(slug),
      description: slug,
      location: this.location(slug),
      server_types: { supported, available, available_for_migration: available },
    }
  }

  /** Every preset once, with its sizes. */
  get presets(): Preset[] {
    const all = [...this.catalogue.presets.values()].flat()
    return [...new Map(all.map((preset) => [preset.preset_id, preset])).values()]
  }

  serverType({ preset_id, slug, cpu, ram_mb, disk_gb, traffic_gb }: Preset) {
    return {
      ...{ id: this.#x.ref('server_type', preset_id), name: slug, description: slug },
      ...{ cores: cpu, memory: ram_mb / 1024, disk: disk_gb, deprecated: false, deprecation: null },
      prices: this.pricesOf(preset_id),
      locations: this.#placesOf(preset_id),
      ...{ storage_type: 'local', category: CATEGORY, cpu_type: 'shared', architecture: 'x86' },
      included_traffic: traffic_gb * GB,
    }
  }

  pricesOf(presetId: string) {
    return [...this.catalogue.presets].flatMap(([location, presets]) =>
      presets
        .filter(({ preset_id }) => preset_id === presetId)
        .map((preset) => ({
          location,
          price_hourly: price(preset.price_hour_rub),
          price_monthly: price(preset.price_month_rub),
          included_traffic: preset.traffic_gb * GB,
          price_per_tb_traffic: price(preset.traffic_tb_rub),
        })),
    )
  }

  /** The locations that offer a preset. */
  #placesOf(presetId: string) {
    return [...this.catalogue.presets].flatMap(([slug, presets]) =>
      presets
        .filter(({ preset_id }) => preset_id === presetId)
        .map(({ is_available }) => ({
          ...{ id: this.#x.ref('location', slug), name: slug, recommended: true },
          ...{ available: is_available, deprecation: null },
        })),
    )
  }

  template({ template_id, slug, title, os_family, min_disk_gb }: Template) {
    return {
      ...{ id: this.#x.ref('template', template_id), type: 'system', status: 'available', name: slug },
      ...{ description: title, image_size: null, disk_size: min_disk_gb, created: '1970-01-01T00:00:00Z' },
      ...{ created_from: null, bound_to: null, os_flavor: os_family, os_version: null, rapid_deploy: true },
      ...{ protection: { delete: false }, deprecated: null, deleted: null, labels: {}, architecture: 'x86' },
    }
  }

  /** The zone that a request names, as a location, a datacenter or neither. @throws ApiError not_found */
  async zone({
    location,
    datacenter,
  }: {
    location?: string | number | undefined
    datacenter?: string | number | undefined
  }): Promise<Zone> {
    const { zones } = this.catalogue
    const slug = location ?? datacenter
    const isAny = slug === undefined || slug === ''
    // hcloud-go sends numbers as text.
    const id = /^\d+$/.test(String(slug)) ? await this.#zoneOf(Number(slug)) : String(slug)
    const found = isAny
      ? (zones.find(({ is_available }) => is_available) ?? zones[0])
      : zones.find(({ zone_slug }) => [zone_slug, datacenterName(zone_slug)].includes(id))
    if (!found) throw missing('location', slug ?? '')
    return found
  }

  async #zoneOf(number: number): Promise<string> {
    return (await this.#x.numbered(['location', 'datacenter'], 'location', number)).id
  }
}

/** A zone has one datacenter, whose name differs from the location's as these clients expect. */
export const datacenterName = (zoneSlug: string) => `${zoneSlug}-dc1`

/** The prices of a zone that no preset has. */
export function limitsOf(x: Exchange, { zone_slug, cpu_types }: Zone): Promise<Limits> {
  return x.v1<Limits>('getLimits', { query: { zone_slug, cpu_type: cpu_types[0] ?? 'amd' } })
}
