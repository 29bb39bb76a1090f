import { missing } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import { limitsOf, type Offers, offersOf, price } from './offers.ts'
import { reading } from './resources.ts'

/** The kinds of offers that are shown by their ids alone. */
const places = [
  { kind: 'location', one: 'location', many: 'locations' },
  { kind: 'datacenter', one: 'datacenter', many: 'datacenters' },
] as const

function placeRoutes({ kind, one, many }: (typeof places)[number]): HcloudRoute[] {
  const show = (offers: Offers, slug: string) => offers[kind](slug)
  return reading({
    ...{ kind, one, many },
    all: async (x) => {
      const offers = await offersOf(x)
      return offers.catalogue.zones.map(({ zone_slug }) => show(offers, zone_slug))
    },
    find: async (x, slug) => {
      const offers = await offersOf(x)
      if (offers.catalogue.zones.some(({ zone_slug }) => zone_slug === slug)) return show(offers, slug)
      throw missing(kind, slug)
    },
  })
}

async function pricing(x: Exchange): Promise<object> {
  const offers = await offersOf(x)
  const zone = await offers.zone({})
  const limits = await limitsOf(x, zone)
  return {
    pricing: {
      ...{ currency: 'RUB', vat_rate: '0.00' },
      image: { price_per_gb_month: price(limits.snapshot_gb_month_rub) },
      volume: { price_per_gb_month: price(zone.volume_gb_month_rub ?? '0.00') },
      traffic: { price_per_tb: price(limits.traffic_tb_rub) },
      server_backup: { percentage: `${limits.backups_percent}.00` },
      server_types: offers.presets.map((preset) => ({
        id: x.ref('server_type', preset.preset_id),
        name: preset.slug,
        prices: offers.pricesOf(preset.preset_id),
      })),
      // Addresses have prices of their own, which their objects in /v1 show.
      ...{ floating_ip: { price_monthly: price('0.00') }, floating_ips: [], primary_ips: [] },
      load_balancer_types: [],
    },
  }
}

export const catalogueRoutes: HcloudRoute[] = [
  ...places.flatMap(placeRoutes),
  ...reading({
    ...{ kind: 'server_type', one: 'server_type', many: 'server_types' },
    all: async (x) => {
      const offers = await offersOf(x)
      return offers.presets.map((preset) => offers.serverType(preset))
    },
    find: async (x, id) => {
      const offers = await offersOf(x)
      const preset = offers.presets.find(({ preset_id }) => preset_id === id)
      if (!preset) throw missing('server_type', id)
      return offers.serverType(preset)
    },
  }),
  answer({ method: 'GET', path: '/pricing', run: pricing }),
]
