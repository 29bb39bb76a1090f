import type { ErrorCode, Operation, Problem, Zone } from './openapi.ts'

/** Additional members of the problem document, by code. */
export interface ProblemMembers {
  insufficient_balance: { required: string; available: string }
  insufficient_scope: { required_scope: string; accepted_scopes: string[] }
  quota_exceeded: { quota: { name: string; limit: number; used: number; requested: number } }
  server_state_conflict: { current_status: string; allowed_statuses: string[] }
  operation_in_progress: { operation_id: string }
  slow_down: { interval: number }
  ssh_key_exists: { ssh_key_id: string }
  /** `max_server` is the largest server that fits there now; 0 if none fits. */
  capacity_unavailable: {
    max_server: { cpu: number; ram_mb: number; disk_gb: number }
    alternatives: { zone_slug: string; cpu_type: 'amd' | 'intel' }[]
  }
  address_unavailable: { alternatives: string[] }
  not_supported: { feature: Zone['features'][number] }
}

/** The problem document for a code; a newer service may have more codes. */
export type ProblemOf<Code> = Omit<Problem, 'code'> & { code: string } & (Code extends keyof ProblemMembers
    ? ProblemMembers[Code]
    : unknown)

/** The API returned an error. Decide by `code`; the texts are for people. */
export class BerthError<Code extends string = ErrorCode | (string & {})> extends Error {
  override readonly name = 'BerthError'
  readonly status: number
  readonly code: Code
  /** A description of the error and its remedy, for people. */
  readonly detail: string
  /** Quote it when you contact the operator. */
  readonly requestId: string
  /** Every mistake in an invalid request; otherwise empty. */
  readonly errors: NonNullable<Problem['errors']>
  /** The whole reply, with the members for its code. */
  readonly problem: ProblemOf<Code>
  /** The time to wait before the next attempt, if the API gives one. */
  readonly retryAfterMs: number | null

  constructor(problem: ProblemOf<Code> & { code: Code }, retryAfterMs: number | null = null) {
    super(sentence(problem))
    this.status = problem.status
    this.code = problem.code
    this.detail = problem.detail
    this.requestId = problem.request_id
    this.errors = problem.errors ?? []
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

/** The detail, followed by the mistakes if there are several. */
function sentence({ code, detail, errors = [] }: ProblemOf<string>): string {
  const mistakes = errors.length > 1 ? errors.map(({ field, message }) => `\n  ${field}: ${message}`) : []
  return `${detail} (${code})${mistakes.join('')}`
}

/** True if it is an error from the API, and has this code if one is given: `problem` then has the members for it. */
export function isBerthError<Code extends ErrorCode>(error: unknown, code: Code): error is BerthError<Code>
export function isBerthError(error: unknown): error is BerthError
export function isBerthError(error: unknown, code?: string): boolean {
  return error instanceof BerthError && (code === undefined || error.code === code)
}

/** The error of Node's fetch for ports that fetch must not connect to. */
const BAD_PORT = 'bad port'

/** There was no reply: no program listens there, the connection broke, or the browser blocked the request. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'

  constructor(url: string, cause: unknown) {
    const reason = rootOf(cause)
    const { origin, port } = new URL(url, 'http://this-page')
    super(
      reason === BAD_PORT
        ? `${origin} can't be reached: port ${port} belongs to another protocol, so HTTP clients refuse it. Check the address.`
        : `${origin} can't be reached${reason ? ` (${reason})` : ''}. Check the address, and that Berth is running there.`,
      { cause },
    )
  }
}

/** Node's fetch only reports "fetch failed"; the cause has the reason. */
function rootOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined) return rootOf(error.cause)
  return 'code' in error ? String(error.code) : error.message
}

/** There was no reply in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
  readonly route: string
  readonly timeoutMs: number

  constructor(route: string, timeoutMs: number) {
    super(
      `No reply to ${route} within ${timeoutMs / 1000} s. Try again, or raise timeoutMs. ` +
        'The request may have been carried out.',
    )
    this.route = route
    this.timeoutMs = timeoutMs
  }
}

/** An operation that was waited for failed or was canceled. */
export class OperationFailed extends Error {
  override readonly name = 'OperationFailed'
  readonly operation: Operation
  /** The code of its error; `canceled` if another operation replaced it. */
  readonly code: string

  constructor(operation: Operation) {
    const { code, message } = operation.error ?? {
      code: operation.status,
      message: 'Another operation replaced it.',
    }
    super(`The operation "${operation.type}" ${operation.status}: ${message} (${code})`)
    this.operation = operation
    this.code = code
  }
}
