import { OperationFailed } from './errors.ts'
import type { Operation, Server } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

/** An operation, or the server that it is carried out on, as the API replies with it. */
export type Waitable =
  | Pick<Operation, 'server_id' | 'operation_id'>
  | Pick<Server, 'server_id' | 'current_operation'>

export interface WaitOptions {
  signal?: AbortSignal | undefined
  /** Is told how the operation stands, at once and then about every two seconds until it is over. */
  onProgress?: ((operation: Operation) => void) | undefined
}

/** The API answers a long poll when the operation is over, or after that long. */
const POLL_SECONDS = 30
const PROGRESS_SECONDS = 2
/** What a reply may take beyond the time that it was asked to wait. */
const PATIENCE_MS = 30_000

type Page = Query<'GET /servers/{server_id}/operations'>

export function operations(call: Call) {
  const list = (server_id: string, query: Page = {}, options?: CallOptions) =>
    call('GET /servers/{server_id}/operations', { path: { server_id }, query }, options)
  /** As it stands; with `wait` when it is over, or after that many seconds. */
  const get = (
    server_id: string,
    operation_id: string,
    query: Query<'GET /servers/{server_id}/operations/{operation_id}'> = {},
    options?: CallOptions,
  ) =>
    call(
      'GET /servers/{server_id}/operations/{operation_id}',
      { path: { server_id, operation_id }, query },
      { timeoutMs: (query.wait ?? 0) * 1000 + PATIENCE_MS, ...options },
    )
  const idOf = async (what: Waitable, options: CallOptions): Promise<string> => {
    if ('operation_id' in what) return what.operation_id
    if (what.current_operation) return what.current_operation.operation_id
    const { items } = await list(what.server_id, { limit: 1 }, options)
    // Every server has at least its create; should there be none, the API says that this is not there.
    return items[0]?.operation_id ?? 'none'
  }
  return {
    /** One page: what was done with a server, also with one that is gone. */
    list,
    /** All, page by page. */
    listAll: (server_id: string, options?: CallOptions) =>
      everyItem((page: Page, own?: CallOptions) => list(server_id, page, own), 'operation_id', {}, options),
    get,
    /**
     * Waits for the end of an operation; of a server, for that of its current one, or else takes its last.
     * @throws OperationFailed where it failed or was canceled
     */
    wait: async (what: Waitable, { signal, onProgress }: WaitOptions = {}): Promise<Operation> => {
      const { server_id } = what
      const operation_id = await idOf(what, { signal })
      for (let wait = onProgress ? 0 : POLL_SECONDS; ; wait = onProgress ? PROGRESS_SECONDS : POLL_SECONDS) {
        const operation = await get(server_id, operation_id, { wait }, { signal })
        onProgress?.(operation)
        if (operation.status === 'succeeded') return operation
        if (operation.finished_at !== null) throw new OperationFailed(operation)
      }
    },
  }
}
