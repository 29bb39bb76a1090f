import type { ServerFilter } from '@berth/sdk'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { berth } from '../client.ts'

/** The API's largest page. */
export const PAGE = 200

export const serversQuery = (filter: ServerFilter & { limit?: number; offset?: number }) =>
  queryOptions({
    queryKey: ['server', 'list', filter],
    queryFn: ({ signal }) => berth.servers.list({ limit: PAGE, ...filter }, { signal }),
    placeholderData: keepPreviousData,
  })

export const serverQuery = (id: string) =>
  queryOptions({
    queryKey: ['server', 'one', id],
    queryFn: ({ signal }) => berth.servers.details(id, { signal }),
  })

/** No event reports progress, so this query polls. */
export const operationQuery = (id: string) =>
  queryOptions({
    queryKey: ['operation', id],
    queryFn: ({ signal }) => berth.operations.get(id, {}, { signal }),
    refetchInterval: ({ state }) => (state.data?.finished_at ? false : 1_000),
  })

export const serverOperationsQuery = (id: string, offset = 0) =>
  queryOptions({
    queryKey: ['operation', 'of', id, offset],
    queryFn: ({ signal }) => berth.servers.operations(id, { limit: 50, offset }, { signal }),
    placeholderData: keepPreviousData,
  })

export const statsQuery = (id: string) =>
  queryOptions({
    queryKey: ['stats', id],
    queryFn: ({ signal }) => berth.servers.stats(id, { signal }),
    refetchInterval: 5_000,
  })

/** The catalogue seldom changes. */
const CATALOGUE_MS = 5 * 60_000

export const zonesQuery = queryOptions({
  queryKey: ['catalogue', 'zones'],
  queryFn: ({ signal }) => berth.zones.list({ signal }),
  staleTime: CATALOGUE_MS,
})

export const templatesQuery = queryOptions({
  queryKey: ['catalogue', 'templates'],
  queryFn: ({ signal }) => berth.templates.list({ signal }),
  staleTime: CATALOGUE_MS,
})

export const presetsQuery = (zone_slug: string, cpu_type: 'amd' | 'intel') =>
  queryOptions({
    queryKey: ['catalogue', 'presets', zone_slug, cpu_type],
    queryFn: ({ signal }) => berth.presets.list({ zone_slug, cpu_type }, { signal }),
    placeholderData: keepPreviousData,
  })

export const capacityQuery = (zone_slug: string, cpu_type: 'amd' | 'intel') =>
  queryOptions({
    queryKey: ['catalogue', 'capacity', zone_slug, cpu_type],
    queryFn: ({ signal }) => berth.capacity.list({ zone_slug, cpu_type }, { signal }),
  })

export const limitsQuery = (zone_slug: string, cpu_type: 'amd' | 'intel') =>
  queryOptions({
    queryKey: ['catalogue', 'limits', zone_slug, cpu_type],
    queryFn: ({ signal }) => berth.limits.get({ zone_slug, cpu_type }, { signal }),
    staleTime: CATALOGUE_MS,
    placeholderData: keepPreviousData,
  })
