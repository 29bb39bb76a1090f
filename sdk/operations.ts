import { OperationFailed } from './errors.ts'
import type { Operation, Server } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

/** An operation, or the server that it is carried out on, as the API replies with it. */
export type Waitable = Pick<Operation, 'operation_id'> | Pick<Server, 'server_id' | 'current_operation'>

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

type Page = Query<'GET /operations'>
export type OperationFilter = Omit<Page, 'limit' | 'offset'>

/** How long a request may take that was asked to wait. */
export const patience = ({ wait = 0 }: { wait?: number | undefined }) => ({
  timeoutMs: wait * 1000 + PATIENCE_MS,
})

/** What was done with one server. */
export const operationsOf =
  (call: Call) =>
  (server_id: string, query: Query<'GET /servers/{server_id}/operations'> = {}, options?: CallOptions) =>
    call('GET /servers/{server_id}/operations', { path: { server_id }, query }, options)

export function operations(call: Call) {
  const list = (query: Page = {}, options?: CallOptions) => call('GET /operations', { query }, options)
  /** As it stands; with `wait` when it is over, or after that many seconds. */
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
    // Every server has at least its create; should there be none, the API says that this is not there.
    return items[0]?.operation_id ?? 'none'
  }
  return {
    /** One page of all operations of the account, the newest first; `subject_id` is the server's. */
    list,
    /** All that match, page by page. */
    listAll: (filter: OperationFilter = {}, options?: CallOptions) =>
      everyItem(list, 'operation_id', filter, options),
    get,
    /**
     * Waits for the end of an operation; of a server, for that of its current one, or else takes its last.
     * @throws OperationFailed where it failed or was canceled
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
