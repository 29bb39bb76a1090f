import type { AddressCreate, AddressUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function addresses(call: Call) {
  const list = (query: Query<'GET /addresses'> = {}, options?: CallOptions) =>
    call('GET /addresses', { query }, options)
  return {
    /** One page, newest first; `server_id` selects the ones of a server. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /addresses'> = {}, options?: CallOptions) =>
      everyItem(list, 'address_id', query, options),
    /** Reserves a public address, and assigns it to a server if `server_id` is given. */
    create: (body: AddressCreate, options?: CallOptions) => call('POST /addresses', { body }, options),
    get: (address_id: string, options?: CallOptions) =>
      call('GET /addresses/{address_id}', { path: { address_id } }, options),
    /** Assigns it to another server, unassigns it (`server_id: null`), or changes its reverse DNS name. */
    update: (address_id: string, body: AddressUpdate, options?: CallOptions) =>
      call('PATCH /addresses/{address_id}', { path: { address_id }, body }, options),
    /** Releases it; with `force`, even if a server has it. */
    delete: (
      address_id: string,
      query: Query<'DELETE /addresses/{address_id}'> = {},
      options?: CallOptions,
    ) => call('DELETE /addresses/{address_id}', { path: { address_id }, query }, options),
  }
}
