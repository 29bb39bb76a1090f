import type { ErrorCode, Operation, Problem } from './openapi.ts'

/** What some codes say beside the members that every problem has. */
export interface ProblemMembers {
  insufficient_balance: { required: string; available: string }
  insufficient_scope: { required_scope: string; accepted_scopes: string[] }
  quota_exceeded: { quota: { name: string; limit: number; used: number; requested: number } }
  server_state_conflict: { current_status: string; allowed_statuses: string[] }
  operation_in_progress: { operation_id: string }
  ssh_key_exists: { ssh_key_id: string }
  capacity_unavailable: { alternatives: { zone_slug: string; cpu_type: 'amd' | 'intel' }[] }
}

/** The problem document of a code. */
export type ProblemOf<Code> = Problem & (Code extends keyof ProblemMembers ? ProblemMembers[Code] : unknown)

/** The API refused. Decide by `code`; the texts are for people. */
export class BerthError<Code extends string = ErrorCode | (string & {})> extends Error {
  override readonly name = 'BerthError'
  readonly status: number
  readonly code: Code
  /** What happened and what to do, for people. */
  readonly detail: string
  /** Tell it to the operator when something went wrong. */
  readonly requestId: string
  /** All that is wrong with the request, where it was invalid. */
  readonly errors: NonNullable<Problem['errors']>
  /** The whole reply, with the members that its code has. */
  readonly problem: ProblemOf<Code>
  /** How long the API asks to wait before the next try; null where it does not say. */
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

/** The detail, and of a form with several mistakes each of them. */
function sentence({ code, detail, errors = [] }: Problem): string {
  const mistakes = errors.length > 1 ? errors.map(({ field, message }) => `\n  ${field}: ${message}`) : []
  return `${detail} (${code})${mistakes.join('')}`
}

/** Whether it is an error of the API, and one with this code: then the problem has the members of the code. */
export function isBerthError<Code extends ErrorCode>(error: unknown, code: Code): error is BerthError<Code>
export function isBerthError(error: unknown): error is BerthError
export function isBerthError(error: unknown, code?: string): boolean {
  return error instanceof BerthError && (code === undefined || error.code === code)
}

/** No reply came: nothing listens there, the connection broke, or a browser was not allowed to ask. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'

  constructor(url: string, cause: unknown) {
    const reason = rootOf(cause)
    super(
      `${new URL(url, 'http://this-page').origin} can't be reached${reason ? ` (${reason})` : ''}. ` +
        'Is Berth running there, and is the address right?',
      { cause },
    )
  }
}

/** Node's fetch says only "fetch failed"; why is in its cause. */
function rootOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined) return rootOf(error.cause)
  return 'code' in error ? String(error.code) : error.message
}

/** No reply came in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
  readonly route: string
  readonly timeoutMs: number

  constructor(route: string, timeoutMs: number) {
    super(
      `${route} was not answered within ${timeoutMs / 1000} s. Try again, or allow more with timeoutMs; ` +
        'what the request was to change may have happened.',
    )
    this.route = route
    this.timeoutMs = timeoutMs
  }
}

/** An operation that was waited for ended otherwise than in success. */
export class OperationFailed extends Error {
  override readonly name = 'OperationFailed'
  readonly operation: Operation
  /** Why, as the operation says; `canceled` where another operation took its place. */
  readonly code: string

  constructor(operation: Operation) {
    const { code, message } = operation.error ?? {
      code: operation.status,
      message: 'Another operation took its place.',
    }
    super(`The operation "${operation.type}" ${operation.status}: ${message} (${code})`)
    this.operation = operation
    this.code = code
  }
}
