import { queryOptions } from '@tanstack/react-query'
import { berth } from './client.ts'

/** The API's largest page; no account has more of these objects. */
const ALL = 200

export const networksQuery = queryOptions({
  queryKey: ['network', 'list'],
  queryFn: ({ signal }) => berth.networks.list({ limit: ALL }, { signal }),
})

export const networkQuery = (id: string) =>
  queryOptions({
    queryKey: ['network', 'one', id],
    queryFn: ({ signal }) => berth.networks.get(id, { signal }),
  })

export const firewallsQuery = queryOptions({
  queryKey: ['firewall', 'list'],
  queryFn: ({ signal }) => berth.firewalls.list({ limit: ALL }, { signal }),
})

export const firewallsOfQuery = (server_id: string) =>
  queryOptions({
    queryKey: ['firewall', 'of', server_id],
    queryFn: ({ signal }) => berth.firewalls.list({ server_id, limit: ALL }, { signal }),
  })

export const firewallQuery = (id: string) =>
  queryOptions({
    queryKey: ['firewall', 'one', id],
    queryFn: ({ signal }) => berth.firewalls.get(id, { signal }),
  })

export const addressesQuery = queryOptions({
  queryKey: ['address', 'list'],
  queryFn: ({ signal }) => berth.addresses.list({ limit: ALL }, { signal }),
})
