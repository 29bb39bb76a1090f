import Type from 'typebox'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { invalid, queryIssue } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import type { Capacity as CapacityService } from './capacity.ts'
import { type Catalog, type Zone as CatalogZone, findZone, onSale, unknownZone } from './file.ts'
import { notOffered, sizeOf } from './plans.ts'
import { pricesAt, zonePricesAt } from './prices.ts'
import { fits, roomIn } from './room.ts'
import { Capacity, CapacityFilter, Limits, Preset, Template, Zone, ZoneAndCpu } from './schema.ts'
import { withTerms } from './terms.ts'
import { capacityView, limitsView, presetView, templateView, zoneView } from './view.ts'

const tag = 'Catalogue'
const scope = 'servers:read'
/** Reference data changes with the catalogue file only; prices and room may change at any moment. */
const CACHE_A_MINUTE = 'private, max-age=60'
const ASK_EACH_TIME = 'no-cache'

export interface CatalogOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: CapacityService
}

export function catalogRoutes(options: CatalogOptions): Route[] {
  return [...offerRoutes(options), presetsRoute(options), limitsRoute(options), capacityRoute(options)]
}

function offerRoutes({ db, clock, catalog, capacity }: CatalogOptions): Route[] {
  return [
    route({
      id: 'listZones',
      method: 'GET',
      hasEtag: true,
      path: '/zones',
      scope,
      tag,
      summary: 'List zones',
      description:
        'Lists the locations of servers, with their CPU types and features. May be cached for a minute. `is_available` refers to the smallest server; `GET /pricing/capacity` returns the largest server that fits.',
      reply: { 200: Type.Array(Zone) },
      run: async ({ actor, setHeader }) => {
        const rows = await capacity.list(db)
        const { prices: entries } = withTerms(catalog, actor.terms)
        const zones = await Promise.all(
          onSale(catalog).zones.map(async (zone) => {
            const isAvailable = rows.some((row) => row.zone_slug === zone.zone_slug && row.is_available)
            const prices = zonePricesAt(entries, zone, clock.now())
            return zoneView(zone, await capacity.abilities(zone), isAvailable, prices)
          }),
        )
        return cached(setHeader, CACHE_A_MINUTE, zones)
      },
    }),
    route({
      id: 'listTemplates',
      method: 'GET',
      hasEtag: true,
      path: '/templates',
      scope,
      tag,
      summary: 'List OS templates',
      description:
        'Lists the operating systems on offer; `POST /servers` takes the `template_id`. Ids stay the same. The image of a template may be updated, which affects only new servers.',
      reply: { 200: Type.Array(Template) },
      run: async ({ setHeader }) => {
        return cached(setHeader, CACHE_A_MINUTE, onSale(catalog).templates.map(templateView))
      },
    }),
  ]
}

function presetsRoute({ db, clock, catalog, capacity }: CatalogOptions): Route {
  return route({
    id: 'listPresets',
    method: 'GET',
    hasEtag: true,
    path: '/pricing/presets',
    scope,
    tag,
    summary: 'List presets with their prices in a zone',
    description:
      'Lists the sizes on offer, with their prices and whether such a server can be created now. For a CPU type that the zone does not have, the list is empty.',
    query: ZoneAndCpu,
    reply: { 200: Type.Array(Preset) },
    run: async ({ actor, query, setHeader }) => {
      const zone = knownZone(catalog, query.zone_slug)
      const { prices: entries } = withTerms(catalog, actor.terms)
      const prices = pricesAt(entries, zone.zone_slug, query.cpu_type, clock.now())
      const isOffered = (await capacity.cpuTypes(zone)).includes(query.cpu_type)
      if (!prices || !isOffered) return cached(setHeader, ASK_EACH_TIME, [])
      const room = roomIn(await capacity.list(db), zone.zone_slug, query.cpu_type)
      const presets = onSale(catalog).presets.map((preset) =>
        presetView(preset, prices, fits(room, sizeOf(preset))),
      )
      return cached(setHeader, ASK_EACH_TIME, presets)
    },
  })
}

function limitsRoute({ clock, catalog, capacity }: CatalogOptions): Route {
  return route({
    id: 'getLimits',
    method: 'GET',
    hasEtag: true,
    path: '/pricing/limits',
    scope,
    tag,
    summary: 'Get the limits and prices of custom plans in a zone',
    description:
      'Returns the smallest and largest `cpu`, `ram_mb` and `disk_gb` of a custom plan, their steps, and the prices of its parts. A CPU type that the zone does not have returns 422.',
    query: ZoneAndCpu,
    reply: { 200: Limits },
    run: async ({ actor, query, setHeader }) => {
      const zone = knownZone(catalog, query.zone_slug)
      const { prices: entries } = withTerms(catalog, actor.terms)
      const prices = pricesAt(entries, zone.zone_slug, query.cpu_type, clock.now())
      const isOffered = (await capacity.cpuTypes(zone)).includes(query.cpu_type)
      if (!prices || !isOffered)
        throw invalid([queryIssue('cpu_type', 'not_in_enum', notOffered(zone.zone_slug, query.cpu_type))])
      const limits = limitsView(zone.zone_slug, query.cpu_type, catalog.limits, prices)
      return cached(setHeader, CACHE_A_MINUTE, limits)
    },
  })
}

function capacityRoute({ db, capacity }: CatalogOptions): Route {
  return route({
    id: 'getCapacity',
    method: 'GET',
    hasEtag: true,
    path: '/pricing/capacity',
    scope,
    tag,
    summary: 'List the available capacity by zone and CPU type',
    description:
      'Returns a row for each zone and CPU type, with the largest server that fits now. Customers share the capacity, and only creating a server reserves it.',
    query: CapacityFilter,
    reply: { 200: Type.Array(Capacity) },
    run: async ({ query, setHeader }) => {
      const rows = (await capacity.list(db))
        .filter((row) => !query.zone_slug || row.zone_slug === query.zone_slug)
        .filter((row) => !query.cpu_type || row.cpu_type === query.cpu_type)
      return cached(setHeader, ASK_EACH_TIME, rows.map(capacityView))
    },
  })
}

/** Sets the time for which a client may cache the reply. */
function cached<View>(
  setHeader: (name: string, value: string) => void,
  cacheControl: string,
  view: View,
): View {
  setHeader('cache-control', cacheControl)
  return view
}

/** @throws ApiError validation_failed */
function knownZone(catalog: Catalog, zoneSlug: string): CatalogZone {
  const zone = findZone(catalog, zoneSlug)
  if (zone) return zone
  throw invalid([queryIssue('zone_slug', 'not_found', unknownZone(catalog, zoneSlug))])
}
