import { BerthError, ConnectionError, OperationFailed, TimeoutError } from '@berth/sdk'

/** What the program ends with; scripts decide by it, so that a number never changes its meaning. */
export const exitCodes = {
  ok: 0,
  error: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  auth: 5,
  rateLimited: 6,
  operationFailed: 7,
  /** Ctrl-C, as shells have it: 128 and the number of the signal. */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** What can't be done, told in two lines: what happened, and what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly advice: string
  readonly exitCode: ExitCode

  constructor(message: string, advice: string, exitCode: ExitCode = exitCodes.usage) {
    super(message)
    this.advice = advice
    this.exitCode = exitCode
  }
}

/** For an update without any of its options. */
export const nothingToChange = (noun: string): Refusal =>
  new Refusal('It is not said what to change.', `See what can be with: berth ${noun} update --help`)

/** Another program has run in our place and told what there was to tell: what it ended with is passed on. */
export class Ended extends Error {
  override readonly name = 'Ended'
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`It ended with ${exitCode}.`)
    this.exitCode = exitCode
  }
}

export interface Told {
  message: string
  advice: string
  exitCode: ExitCode
}

/** How an error is told; undefined where it is a mistake of ours, which wants its stack. */
export function tellingOf(error: unknown): Told | undefined {
  if (error instanceof Refusal) return error
  if (error instanceof OperationFailed) return ofOperation(error)
  if (error instanceof BerthError) return ofProblem(error)
  if (error instanceof ConnectionError)
    return { message: error.message, advice: adviceOnAddress, exitCode: exitCodes.error }
  if (error instanceof TimeoutError)
    return {
      message: `${error.route} was not answered within ${error.timeoutMs / 1000} s.`,
      advice: 'Look whether it happened all the same, then try again.',
      exitCode: exitCodes.error,
    }
  return undefined
}

function ofOperation({ message, operation }: OperationFailed): Told {
  const advice = `See what it did with: berth operation show ${operation.operation_id}`
  return { message, advice, exitCode: exitCodes.operationFailed }
}

function ofProblem(error: BerthError): Told {
  // Each names its field.
  const mistakes = error.errors.map(({ message }) => message)
  const message = `${mistakes.length > 0 ? mistakes.join(' ') : error.detail} (${error.code})`
  return { message, advice: withRequest(adviceOn(error), error), exitCode: exitCodeOf(error.status) }
}

/** Advice with the id by which the operator finds the request; what is no answer of Berth has none. */
export function withRequest(advice: string, error: unknown): string {
  return error instanceof BerthError && error.requestId ? `${advice} (request ${error.requestId})` : advice
}

function exitCodeOf(status: number): ExitCode {
  if (status === 404) return exitCodes.notFound
  if (status === 409 || status === 412) return exitCodes.conflict
  if (status === 401 || status === 403) return exitCodes.auth
  if (status === 429) return exitCodes.rateLimited
  return status === 400 || status === 422 ? exitCodes.usage : exitCodes.error
}

const adviceOnAddress = 'See where it looks with: berth context list. Another place: --url, or BERTH_URL.'

/** `<server>` and `<project>` stand for the one that was asked about. */
const adviceByCode: Partial<Record<string, string>> = {
  missing_token: 'Log in with: berth login',
  invalid_token: 'Log in with a token that is valid: berth login',
  token_expired: 'Make a new token, then log in with it: berth login',
  token_revoked: 'Make a new token, then log in with it: berth login',
  insufficient_scope: 'Log in with a token that has it, or make one: berth token create',
  insufficient_balance: 'See what is left with: berth balance',
  quota_exceeded: 'See what the account may have with: berth whoami',
  server_state_conflict: 'See how the server stands with: berth server show <server>',
  operation_in_progress: 'Wait for its end with: berth server wait <server>',
  delete_protected: 'Take the protection off with: berth server update <server> --no-delete-protection',
  capacity_unavailable: 'See what there is room for with: berth capacity',
  project_not_empty: 'See what is in it with: berth server list --project <project>',
  project_is_default: 'See which others there are with: berth project list',
  ssh_key_exists: 'See which it is with: berth ssh-key list',
  validation_failed: 'The command with --help says what it takes.',
  server_not_found: 'See those that are with: berth server list',
  operation_not_found: 'See those that are with: berth operation list',
  route_not_found: adviceOnAddress,
  unexpected_reply: adviceOnAddress,
}

function adviceOn({ code, status, retryAfterMs, problem }: BerthError): string {
  if (retryAfterMs !== null) return `Try again in ${Math.ceil(retryAfterMs / 1000)} s.`
  if (status >= 500) return 'Try again; if it stays so, tell the operator of this request.'
  const advice = adviceByCode[code] ?? 'Look at how things stand, and try again.'
  return advice.replace(/<(server|project)>/, (noun, name) => idIn(problem.instance, `${name}s`) ?? noun)
}

/** `/v1/servers/<id>/start` names the server that was asked about. */
function idIn(instance: unknown, collection: string): string | undefined {
  const [, id] = new RegExp(`/${collection}/([0-9a-f-]{36})(/|$)`).exec(String(instance)) ?? []
  return id
}
