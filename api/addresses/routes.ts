import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Actor } from '../http/contract/auth.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import { operationProblems } from '../operations/schema.ts'
import {
  type AddressesOptions,
  addressQuota,
  findAddress,
  listAddresses,
  releaseAddress,
  reserveAddress,
  updateAddress,
} from './addresses.ts'
import {
  Address,
  AddressCreate,
  AddressDeletion,
  AddressQuery,
  AddressUpdate,
  addressProblems,
} from './schema.ts'
import type { AddressTable } from './tables.ts'
import { addressView } from './view.ts'

const tag = 'Servers'
const path = '/addresses'
const one = `${path}/:address_id`
const params = { address_id: addressProblems.address_not_found }

export function addressRoutes(options: AddressesOptions): Route[] {
  const { db } = options
  const load: Load = async ({ actor, params }) =>
    found(await findAddress(db, actor.accountId, params.address_id), addressProblems.address_not_found)
  return [
    route({
      id: 'listAddresses',
      method: 'GET',
      path,
      scope: 'servers:read',
      tag,
      summary: 'List public addresses',
      description:
        'Returns the addresses of the account, newest first: reserved ones, and those that servers were created with. `server_id` selects the addresses of one server.',
      query: AddressQuery,
      reply: { 200: listOf(Address) },
      run: (call) =>
        paged(call, (page) => listAddresses(db, call.actor.accountId, call.query, page), addressView),
    }),
    reserveRoute(options),
    route({
      id: 'getAddress',
      method: 'GET',
      path: one,
      scope: 'servers:read',
      tag,
      summary: 'Get a public address',
      description: 'Returns the address with its server and its price. A deleted address returns 404.',
      params,
      load,
      reply: { 200: Address },
      run: async ({ loaded }) => addressView(loaded),
    }),
    ...changeRoutes(options, load),
  ]
}

type Load = (call: { actor: Actor; params: { address_id: string } }) => Promise<AddressTable>

function changeRoutes(options: AddressesOptions, load: Load): Route[] {
  return [
    route({
      id: 'updateAddress',
      method: 'PATCH',
      path: one,
      scope: 'servers:write',
      tag,
      summary: 'Move a public address, or change its reverse DNS name',
      description:
        '`server_id` assigns the address to a server of the zone within a second, without a restart; the server also sends from it. Null unassigns it. A server can have one address of each family: a second one returns 409. An address that came with a server is reserved from then on, and stays when the server is deleted.',
      params,
      load,
      body: AddressUpdate,
      reply: { 200: Address },
      problems: { quota_exceeded: atLimit(addressQuota) },
      errors: [
        operationProblems.operation_in_progress,
        accountProblems.quota_exceeded,
        addressProblems.address_in_use,
      ],
      run: async ({ loaded, body }) => addressView(await updateAddress(options, loaded, body)),
    }),
    route({
      id: 'deleteAddress',
      method: 'DELETE',
      path: one,
      scope: 'servers:write',
      tag,
      summary: 'Release a public address',
      description:
        'Its billing ends, and no other account gets it for a day. An address that a server has returns 409, unless `force` is true: then the server loses it within a second.',
      params,
      load,
      query: AddressDeletion,
      reply: { 204: null },
      errors: [addressProblems.address_in_use],
      run: ({ loaded, query }) => releaseAddress(options, loaded, query.force ?? false),
    }),
  ]
}

function reserveRoute(options: AddressesOptions): Route {
  const shown = (row: AddressTable, setHeader: (name: string, value: string) => void) => {
    setHeader('location', `/v1/addresses/${row.address_id}`)
    return addressView(row)
  }
  return route({
    id: 'reserveAddress',
    method: 'POST',
    path,
    scope: 'servers:write',
    tag,
    summary: 'Reserve a public address',
    description:
      'The address belongs to the account until you delete it, and is billed by the hour, even while no server has it. `server_id` assigns it to a server at once. A specific address cannot be requested. IPv6 is free.',
    body: AddressCreate,
    reply: { 201: Address },
    problems: {
      quota_exceeded: atLimit(addressQuota),
      not_supported: { feature: 'public_ipv4' },
    },
    errors: [
      catalogProblems.not_supported,
      operationProblems.operation_in_progress,
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
      addressProblems.address_in_use,
      addressProblems.address_unavailable,
      addressProblems.address_not_found,
    ],
    run: async ({ actor, body, remember, setHeader }) =>
      shown(await reserveAddress(options, actor, body, remember), setHeader),
    recover: async ({ actor, setHeader }, addressId) =>
      shown(
        found(await findAddress(options.db, actor.accountId, addressId), addressProblems.address_not_found),
        setHeader,
      ),
  })
}
