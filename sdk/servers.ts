import { type ConsoleOptions, openConsole, screenAddress } from './console.ts'
import type {
  RebuildRequest,
  RescueRequest,
  RestoreRequest,
  ServerCreate,
  ServerUpdate,
  StartRequest,
  StopRequest,
} from './openapi.ts'
import { operationsOf, patience } from './operations.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query, Settings } from './request.ts'

export type ServerFilter = Omit<Query<'GET /servers'>, 'limit' | 'offset'>

export function servers(settings: Settings, call: Call) {
  const list = (query: Query<'GET /servers'> = {}, options?: CallOptions) =>
    call('GET /servers', { query }, options)
  return {
    /** One page, newest first unless `sort` is given. */
    list,
    /** All matching items, page by page. */
    listAll: (filter: ServerFilter = {}, options?: CallOptions) =>
      everyItem(list, 'server_id', filter, options),
    get: (server_id: string, options?: CallOptions) =>
      call('GET /servers/{server_id}', { path: { server_id } }, options),
    /** Starts creating a server; pass the reply to `operations.wait` to wait until it is ready. */
    create: (body: ServerCreate, options?: CallOptions) => call('POST /servers', { body }, options),
    /** A change of plan needs a stopped server and is an operation: the `current_operation` of the reply. */
    update: (server_id: string, body: ServerUpdate, options?: CallOptions) =>
      call('PATCH /servers/{server_id}', { path: { server_id }, body }, options),
    /** Deletes the server and its disk; its backups stay for a week. */
    delete: (server_id: string, options?: CallOptions) =>
      call('DELETE /servers/{server_id}', { path: { server_id } }, options),
    /** Server details: how to log in, costs, allowed actions, and the objects that its ids refer to. */
    details: (server_id: string, options?: CallOptions) =>
      call('GET /servers/{server_id}/details', { path: { server_id } }, options),
    /** Current resource usage. */
    stats: (server_id: string, options?: CallOptions) =>
      call('GET /servers/{server_id}/stats', { path: { server_id } }, options),
    /** Resource usage over time, up to 30 days. */
    metrics: (
      server_id: string,
      query: Query<'GET /servers/{server_id}/metrics'> = {},
      options?: CallOptions,
    ) => call('GET /servers/{server_id}/metrics', { path: { server_id }, query }, options),
    /** Lists the operations of a server, even of a deleted one: one page, newest first. */
    operations: operationsOf(call),
    /**
     * Gets an operation on the server; with `wait`, the reply comes when it has finished, or after that many seconds.
     */
    operation: (
      server_id: string,
      operation_id: string,
      query: Query<'GET /servers/{server_id}/operations/{operation_id}'> = {},
      options?: CallOptions,
    ) =>
      call(
        'GET /servers/{server_id}/operations/{operation_id}',
        { path: { server_id, operation_id }, query },
        { ...patience(query), ...options },
      ),
    ...actionsOf(call),
    /** Opens the serial console: iterate over it for the guest's output, and write the input to it. */
    console: (server_id: string, options?: ConsoleOptions) => openConsole(settings, call, server_id, options),
    /** The address of the server's screen, for noVNC. */
    screen: (server_id: string, options?: CallOptions) => screenAddress(settings, call, server_id, options),
  }
}

/** The calls that turn a server on and off, and replace its system. */
function actionsOf(call: Call) {
  return {
    start: (server_id: string, body: StartRequest = {}, options?: CallOptions) =>
      call('POST /servers/{server_id}/start', { path: { server_id }, body }, options),
    /** Shuts the guest down, and powers it off after a timeout; with `force` at once. */
    stop: (server_id: string, body: StopRequest = {}, options?: CallOptions) =>
      call('POST /servers/{server_id}/stop', { path: { server_id }, body }, options),
    reboot: (server_id: string, body: StopRequest = {}, options?: CallOptions) =>
      call('POST /servers/{server_id}/reboot', { path: { server_id }, body }, options),
    /** Sets a new password on a running server; the details show it once the operation has succeeded. */
    resetPassword: (server_id: string, options?: CallOptions) =>
      call('POST /servers/{server_id}/reset_password', { path: { server_id } }, options),
    /** Replaces the disk by a new operating system; all data on it is lost. */
    rebuild: (server_id: string, body: RebuildRequest, options?: CallOptions) =>
      call('POST /servers/{server_id}/rebuild', { path: { server_id }, body }, options),
    /** Boots a rescue system beside the disk; the details show how to log in to it. */
    rescue: (server_id: string, body: RescueRequest = {}, options?: CallOptions) =>
      call('POST /servers/{server_id}/rescue', { path: { server_id }, body }, options),
    /** Boots from the server's own disk again, and deletes the rescue system. */
    unrescue: (server_id: string, options?: CallOptions) =>
      call('POST /servers/{server_id}/unrescue', { path: { server_id } }, options),
    /** Returns the disk to a snapshot of the server; everything written since is lost. */
    restore: (server_id: string, body: RestoreRequest, options?: CallOptions) =>
      call('POST /servers/{server_id}/restore', { path: { server_id }, body }, options),
  }
}
