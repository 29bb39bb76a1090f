import type { PortPublish } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function ports(call: Call) {
  const list = (
    server_id: string,
    query: Query<'GET /servers/{server_id}/ports'> = {},
    options?: CallOptions,
  ) => call('GET /servers/{server_id}/ports', { path: { server_id }, query }, options)
  return {
    /** One page, newest first; the port for SSH is last. */
    list,
    /** All, page by page. */
    listAll: (server_id: string, options?: CallOptions) => {
      const page = (query: Query<'GET /servers/{server_id}/ports'>, more?: CallOptions) =>
        list(server_id, query, more)
      return everyItem(page, 'port_id', {}, options)
    },
    /** Publishes a port of a server; the reply says where clients connect to. */
    publish: (server_id: string, body: PortPublish, options?: CallOptions) =>
      call('POST /servers/{server_id}/ports', { path: { server_id }, body }, options),
    unpublish: (server_id: string, port_id: string, options?: CallOptions) =>
      call('DELETE /servers/{server_id}/ports/{port_id}', { path: { server_id, port_id } }, options),
  }
}
