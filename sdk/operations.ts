import { OperationFailed } from './errors.ts'
import type { Operation, Server } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

/** An operation or a server, as returned by the API. */
export type Waitable = Pick<Operation, 'operation_id'> | Pick<Server, 'server_id' | 'current_operation'>

export interface WaitOptions {
  signal?: AbortSignal | undefined
  /** Called with the operation at once, then about every two seconds until it finishes. */
  onProgress?: ((operation: Operation) => void) | undefined
}

/** The API answers a long poll when the operation finishes, or after this time. */
const POLL_SECONDS = 30
const PROGRESS_SECONDS = 2
/** Time for the reply on top of the requested wait. */
const PATIENCE_MS = 30_000

type Page = Query<'GET /operations'>
export type OperationFilter = Omit<Page, 'limit' | 'offset'>

/** The timeout of a request with `wait`. */
export const patience = ({ wait = 0 }: { wait?: number | undefined }) => ({
  timeoutMs: wait * 1000 + PATIENCE_MS,
})

/** Lists the operations of one server. */
export const operationsOf =
  (call: Call) =>
  (server_id: string, query: Query<'GET /servers/{server_id}/operations'> = {}, options?: CallOptions) =>
    call('GET /servers/{server_id}/operations', { path: { server_id }, query }, options)

export function operations(call: Call) {
  const list = (query: Page = {}, options?: CallOptions) => call('GET /operations', { query }, options)
  /** Replies at once; with `wait`, when the operation finishes, or after that many seconds. */
  const get = (
    operation_id: string,
    query: Query<'GET /operations/{operation_id}'> = {},
    options?: CallOptions,
  ) =>
    call(
      'GET /operations/{operation_id}',
      { path: { operation_id }, query },
      { ...patience(query), ...options },
    )
  const idOf = async (what: Waitable, options: CallOptions): Promise<string> => {
    if ('operation_id' in what) return what.operation_id
    if (what.current_operation) return what.current_operation.operation_id
    const { items } = await operationsOf(call)(what.server_id, { limit: 1 }, options)
    // Every server has at least its create operation; otherwise the API replies that it is not found.
    return items[0]?.operation_id ?? 'none'
  }
  return {
    /** One page of all operations of the account, newest first; `subject_id` selects those of one server. */
    list,
    /** All matching items, page by page. */
    listAll: (filter: OperationFilter = {}, options?: CallOptions) =>
      everyItem(list, 'operation_id', filter, options),
    get,
    /**
     * Waits for an operation to finish; given a server, for its current operation, or else its last one.
     * @throws OperationFailed if it failed or was canceled
     */
    wait: async (what: Waitable, { signal, onProgress }: WaitOptions = {}): Promise<Operation> => {
      const operation_id = await idOf(what, { signal })
      for (let wait = onProgress ? 0 : POLL_SECONDS; ; wait = onProgress ? PROGRESS_SECONDS : POLL_SECONDS) {
        const operation = await get(operation_id, { wait }, { signal })
        onProgress?.(operation)
        if (operation.status === 'succeeded') return operation
        if (operation.finished_at !== null) throw new OperationFailed(operation)
      }
    },
  }
}
