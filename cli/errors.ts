import { BerthError, ConnectionError, OperationFailed, TimeoutError } from '@berth/sdk'

/** Scripts rely on these: a number never changes its meaning. */
export const exitCodes = {
  ok: 0,
  error: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  auth: 5,
  rateLimited: 6,
  operationFailed: 7,
  /** Ctrl-C, as in shells: 128 plus the signal number. */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** An error shown in two lines: what is wrong, and what to do. */
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

/** For an update command without options. */
export const nothingToChange = (noun: string): Refusal =>
  new Refusal('Nothing to change.', `See the options with: berth ${noun} update --help`)

/** Another program ran in our place and printed its own errors: only its exit code is passed on. */
export class Ended extends Error {
  override readonly name = 'Ended'
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`The program exited with ${exitCode}.`)
    this.exitCode = exitCode
  }
}

export interface ErrorReport {
  message: string
  advice: string
  exitCode: ExitCode
  /** The reply of the API, if it refused the request. */
  problem?: object
}

/** The message to print for an error; undefined for a bug of ours, which needs its stack. */
export function reportOf(error: unknown): ErrorReport | undefined {
  if (error instanceof Refusal) return error
  if (error instanceof OperationFailed) return ofOperation(error)
  if (error instanceof BerthError) return ofProblem(error)
  if (error instanceof ConnectionError)
    return { message: error.message, advice: adviceOnAddress, exitCode: exitCodes.error }
  if (error instanceof TimeoutError)
    return {
      message: `The API did not reply within ${error.timeoutMs / 1000} s.`,
      advice: 'Check whether the change was made, then try again.',
      exitCode: exitCodes.error,
    }
  return undefined
}

function ofOperation({ message, operation }: OperationFailed): ErrorReport {
  const advice = `See the details with: berth operation show ${operation.operation_id}`
  return { message, advice, exitCode: exitCodes.operationFailed }
}

function ofProblem(error: BerthError): ErrorReport {
  // Each message names its field.
  const mistakes = error.errors.map(({ message }) => message)
  const message = `${mistakes.length > 0 ? mistakes.join(' ') : error.detail} (${error.code})`
  const advice = withRequest(adviceOn(error), error)
  return { message, advice, exitCode: exitCodeOf(error), problem: error.problem }
}

/** Adds the request id, which lets the operator find the request; replies from other programs have none. */
export function withRequest(advice: string, error: unknown): string {
  return error instanceof BerthError && error.requestId ? `${advice} (request ${error.requestId})` : advice
}

function exitCodeOf({ status, errors }: BerthError): ExitCode {
  const isUnknown = errors.length > 0 && errors.every(({ code }) => code === 'not_found')
  if (status === 404 || isUnknown) return exitCodes.notFound
  if (status === 409 || status === 412) return exitCodes.conflict
  if (status === 401 || status === 403) return exitCodes.auth
  if (status === 429) return exitCodes.rateLimited
  return status === 400 || status === 422 ? exitCodes.usage : exitCodes.error
}

const adviceOnAddress = 'Check the address with berth context list, or set another with --url or BERTH_URL.'

/** `<server>`, `<project>` and `<webhook>` are replaced by the ids in the request. */
const adviceByCode: Partial<Record<string, string>> = {
  access_denied: 'Log in again if that was a mistake.',
  account_suspended: 'See the account with: berth whoami',
  expired_token: 'Log in again: berth login',
  missing_token: 'Log in with: berth login',
  invalid_token: 'Log in with a valid token: berth login',
  token_expired: 'Create a new token and log in with it: berth login',
  token_revoked: 'Create a new token and log in with it: berth login',
  role_not_allowed: 'Ask an owner, in the console.',
  last_owner: 'Make another member an owner first: berth member role',
  already_member: 'Change the role with: berth member role',
  address_not_allowed: 'Log in with a token that may be used from this address: berth login',
  insufficient_scope: 'Log in with a token that has it, or create one: berth token create',
  insufficient_balance: 'See the balance with: berth balance',
  quota_exceeded: 'See the quotas with: berth whoami',
  server_state_conflict: 'See its status with: berth server show <server>',
  operation_in_progress: 'Wait for it with: berth server wait <server>',
  rescue_conflict: 'See its status with: berth server show <server>',
  delete_protected: 'Turn off delete protection with: berth server update <server> --no-delete-protection',
  capacity_unavailable: 'See what fits with: berth capacity',
  address_in_use: 'Unassign it with: berth address unassign <address>',
  address_unavailable: 'List zones with: berth zone list --columns id,features',
  not_supported: 'See what zones support with: berth zone list --columns id,features',
  token_not_revocable: 'Use a token without expiry and cidrs, or ask the operator of this service',
  project_not_empty: 'List its servers with: berth server list --project <project>',
  project_is_default: 'List all projects with: berth project list',
  ssh_key_exists: 'List your keys with: berth ssh-key list',
  webhook_not_verified: 'Send it a challenge with: berth webhook verify <webhook>',
  validation_failed: 'See the options with --help.',
  server_not_found: 'List servers with: berth server list',
  operation_not_found: 'List operations with: berth operation list',
  route_not_found: adviceOnAddress,
  unexpected_reply: adviceOnAddress,
}

/** Advice about ids that the API does not know, by the field that they are in. */
const adviceByField: Partial<Record<string, string>> = {
  zone_slug: 'List zones with: berth zone list',
  template: 'List templates with: berth template list',
  template_id: 'List templates with: berth template list',
  preset: 'List presets with: berth preset list',
  preset_id: 'List presets with: berth preset list',
  project_id: 'List projects with: berth project list',
  ssh_key_ids: 'List SSH keys with: berth ssh-key list',
}

function adviceOn({ code, status, retryAfterMs, problem, errors }: BerthError): string {
  if (retryAfterMs !== null) return `Try again in ${Math.ceil(retryAfterMs / 1000)} s.`
  if (status >= 500) return 'Try again; if it keeps failing, contact the operator.'
  const unknown = errors.find((issue) => issue.code === 'not_found')?.field.split('.')[0] ?? ''
  const advice = adviceByField[unknown] ?? adviceByCode[code] ?? 'Check the current state and try again.'
  return advice.replace(
    /<(server|project|webhook)>/,
    (noun, name) => idIn(problem.instance, `${name}s`) ?? noun,
  )
}

/** The id in a path such as `/v1/servers/<id>/start`. */
function idIn(instance: unknown, collection: string): string | undefined {
  const [, id] = new RegExp(`/${collection}/([0-9a-f-]{36})(/|$)`).exec(String(instance)) ?? []
  return id
}
