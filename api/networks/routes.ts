import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Page } from '../database/page.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import {
  addNetwork,
  deleteNetwork,
  findNetwork,
  listNetworks,
  membersOf,
  type NetworksOptions,
  networkLoader,
  networkQuota,
  updateNetwork,
} from './networks.ts'
import { Network, NetworkCreate, NetworkQuery, NetworkUpdate, networkProblems } from './schema.ts'
import type { NetworkTable } from './tables.ts'
import { networkView } from './view.ts'

const tag = 'Networks'
const path = '/networks'

export function networkRoutes(options: NetworksOptions): Route[] {
  return [...collectionRoutes(options), ...objectRoutes(options)]
}

async function shown({ db }: NetworksOptions, row: NetworkTable): Promise<Network> {
  return networkView(row, (await membersOf(db, [row.network_id])).get(row.network_id) ?? [])
}

function collectionRoutes(options: NetworksOptions): Route[] {
  const { db } = options
  const created = (row: NetworkTable, setHeader: SetHeader) => {
    setHeader('location', `/v1/networks/${row.network_id}`)
    return shown(options, row)
  }
  return [
    route({
      id: 'listNetworks',
      method: 'GET',
      path,
      scope: 'servers:read',
      tag,
      summary: 'List private networks',
      description:
        'Returns the private networks of the account with their servers, newest first. `server_id` selects the networks of one server.',
      query: NetworkQuery,
      reply: { 200: listOf(Network) },
      run: async (call) => {
        const find = async (page: Page) => {
          const { items, total } = await listNetworks(db, call.actor.accountId, call.query, page)
          const members = await membersOf(
            db,
            items.map(({ network_id }) => network_id),
          )
          return { items: items.map((row) => networkView(row, members.get(row.network_id) ?? [])), total }
        }
        return paged(call, find, (view) => view)
      },
    }),
    route({
      id: 'createNetwork',
      method: 'POST',
      path,
      scope: 'servers:write',
      tag,
      summary: 'Create a private network',
      description:
        'Servers in the network reach each other at addresses of its range; other servers cannot reach them there. The network has no gateway, firewalls do not apply in it, and it carries IPv4 only. It is free of charge.',
      body: NetworkCreate,
      reply: { 201: Network },
      problems: { quota_exceeded: atLimit(networkQuota) },
      errors: [
        catalogProblems.not_supported,
        accountProblems.quota_exceeded,
        networkProblems.network_not_found,
      ],
      run: async ({ actor, body, remember, setHeader }) =>
        created(await addNetwork(options, actor.accountId, body, remember), setHeader),
      recover: async ({ actor, setHeader }, networkId) =>
        created(
          found(await findNetwork(db, actor.accountId, networkId), networkProblems.network_not_found),
          setHeader,
        ),
    }),
  ]
}

function objectRoutes(options: NetworksOptions): Route[] {
  const object = {
    path: `${path}/:network_id`,
    tag,
    params: { network_id: networkProblems.network_not_found },
    load: networkLoader(options),
  }
  return [
    route({
      id: 'getNetwork',
      method: 'GET',
      ...object,
      scope: 'servers:read',
      summary: 'Get a private network',
      description:
        'Returns the network with its servers and their addresses. A server that is being attached is listed at once.',
      reply: { 200: Network },
      run: ({ loaded }) => shown(options, loaded),
    }),
    route({
      id: 'updateNetwork',
      method: 'PATCH',
      ...object,
      scope: 'servers:write',
      summary: 'Rename a private network',
      description: 'Only the name can be changed. For another range, create another network.',
      body: NetworkUpdate,
      reply: { 200: Network },
      run: async ({ loaded, body }) => shown(options, await updateNetwork(options, loaded, body)),
    }),
    route({
      id: 'deleteNetwork',
      method: 'DELETE',
      ...object,
      scope: 'servers:write',
      summary: 'Delete a private network',
      description: 'It must have no servers: detach them first. Its range can be used again at once.',
      reply: { 204: null },
      errors: [networkProblems.network_in_use],
      run: ({ loaded }) => deleteNetwork(options, loaded),
    }),
  ]
}
