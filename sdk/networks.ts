import type { NetworkAttach, NetworkCreate, NetworkUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function networks(call: Call) {
  const list = (query: Query<'GET /networks'> = {}, options?: CallOptions) =>
    call('GET /networks', { query }, options)
  return {
    /** One page, newest first; `server_id` selects the networks of a server. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /networks'> = {}, options?: CallOptions) =>
      everyItem(list, 'network_id', query, options),
    get: (network_id: string, options?: CallOptions) =>
      call('GET /networks/{network_id}', { path: { network_id } }, options),
    create: (body: NetworkCreate, options?: CallOptions) => call('POST /networks', { body }, options),
    update: (network_id: string, body: NetworkUpdate, options?: CallOptions) =>
      call('PATCH /networks/{network_id}', { path: { network_id }, body }, options),
    delete: (network_id: string, options?: CallOptions) =>
      call('DELETE /networks/{network_id}', { path: { network_id } }, options),
    /** Replies with an operation to wait for. */
    attach: (network_id: string, body: NetworkAttach, options?: CallOptions) =>
      call('POST /networks/{network_id}/servers', { path: { network_id }, body }, options),
    /** Replies with an operation to wait for. */
    detach: (network_id: string, server_id: string, options?: CallOptions) =>
      call('DELETE /networks/{network_id}/servers/{server_id}', { path: { network_id, server_id } }, options),
  }
}
