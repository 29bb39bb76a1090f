import Type, { type Static } from 'typebox'

/** Every error of the API: its status and its title. Clients act on the code, never on the prose. */
export const problems = {
  bad_request: [400, 'The request is malformed'],
  invalid_json: [400, 'The body is not JSON'],
  missing_token: [401, 'A token is needed'],
  invalid_token: [401, 'The token is not valid'],
  token_expired: [401, 'The token has expired'],
  token_revoked: [401, 'The token was revoked'],
  insufficient_balance: [402, 'The balance is too low'],
  insufficient_scope: [403, 'The token lacks a scope'],
  quota_exceeded: [403, 'A quota of the account is used up'],
  account_suspended: [403, 'The account is suspended'],
  project_not_found: [404, 'No such project'],
  ssh_key_not_found: [404, 'No such SSH key'],
  server_not_found: [404, 'No such server'],
  operation_not_found: [404, 'No such operation'],
  token_not_found: [404, 'No such token'],
  webhook_not_found: [404, 'No such webhook'],
  route_not_found: [404, 'No such path'],
  method_not_allowed: [405, 'The path has no such method'],
  server_state_conflict: [409, 'The server is not in a state that allows this'],
  operation_in_progress: [409, 'Another operation is in progress'],
  delete_protected: [409, 'The server is protected from deletion'],
  project_not_empty: [409, 'The project has servers'],
  project_is_default: [409, 'The default project stays'],
  ssh_key_exists: [409, 'The SSH key exists already'],
  idempotency_key_in_use: [409, 'A request with this key is still running'],
  capacity_unavailable: [409, 'No capacity for this plan'],
  precondition_failed: [412, 'The object has changed'],
  payload_too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'The body has the wrong content type'],
  validation_failed: [422, 'The request has invalid values'],
  idempotency_key_reused: [422, 'The key was used for another request'],
  rate_limited: [429, 'Too many requests'],
  internal_error: [500, 'Something went wrong on our side'],
  backend_unavailable: [503, 'The service is not available right now'],
} as const satisfies Record<string, readonly [status: number, title: string]>

export type ProblemCode = keyof typeof problems
export const problemCodes = Object.keys(problems) as ProblemCode[] // the keys of a constant table

export const issueCodes = [
  'required',
  'unknown_field',
  'wrong_type',
  'too_long',
  'too_short',
  'below_minimum',
  'above_maximum',
  'not_a_step',
  'not_in_enum',
  'invalid_format',
  'not_found',
  'mutually_exclusive',
  'disk_too_small',
  'invalid_public_key',
] as const

/** One thing wrong with a request: where it is and what to do. */
export const Issue = Type.Object(
  {
    in: Type.Enum(['body', 'query', 'path', 'header']),
    field: Type.String({ description: 'Name of the field, in dots where it is nested' }),
    pointer: Type.String({
      description: 'JSON Pointer (RFC 6901) into the body; for query parameters /name',
    }),
    code: Type.Enum([...issueCodes]),
    message: Type.String(),
  },
  { title: 'Issue' },
)
export type Issue = Static<typeof Issue>

/** RFC 9457, with our code and request id; some codes carry further members. */
export const Problem = Type.Object(
  {
    type: Type.String({ format: 'uri-reference' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: 'What happened and what to do, for people' }),
    instance: Type.String({ description: 'The path that was asked for' }),
    code: Type.String({ description: 'What a client acts on' }),
    request_id: Type.String(),
    errors: Type.Optional(Type.Array(Issue)),
  },
  { title: 'Problem', additionalProperties: true },
)

/** Thrown anywhere under a route; turned into problem+json in one place. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ProblemCode
  readonly extra: Record<string, unknown>
  readonly headers: Record<string, string>

  /**
   * @param detail what happened and what to do, for the customer
   * @param extra members that the code's documentation names
   */
  constructor(
    code: ProblemCode,
    detail: string,
    extra: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) {
    super(detail)
    this.code = code
    this.extra = extra
    this.headers = headers
  }

  get status(): number {
    return problems[this.code][0]
  }

  /** The problem+json document. */
  toProblem(requestId: string, instance: string) {
    const [status, title] = problems[this.code]
    return {
      type: `urn:berth:problem:${this.code}`,
      title,
      status,
      detail: this.message,
      instance,
      code: this.code,
      request_id: requestId,
      ...this.extra,
    }
  }
}

/** As many issues as one reply lists: who makes more mistakes than that sent something else than was meant. */
export const MAX_ISSUES = 100

/** Bytes of the errors in one reply: who sends long names need not get each of them back. */
const MAX_ISSUES_BYTES = 32_000
const MAX_NAME = 100
const MAX_MESSAGE = 300

/** What came from outside, as far as a reader needs it to know it again. @param length in UTF-16 code units */
export function cut(text: string, length = MAX_NAME): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
}

/** 422 with all that is wrong at once. */
export function invalid(issues: Issue[]): ApiError {
  let room = MAX_ISSUES_BYTES
  const errors: Issue[] = []
  for (const { field, pointer, message, ...rest } of issues.slice(0, MAX_ISSUES)) {
    const shown = { ...rest, field: cut(field), pointer: cut(pointer), message: cut(message, MAX_MESSAGE) }
    room -= Buffer.byteLength(JSON.stringify(shown))
    if (room < 0) break
    errors.push(shown)
  }
  return new ApiError('validation_failed', summary(issues.length, errors), { errors })
}

function summary(count: number, { length, 0: first }: Issue[]): string {
  if (count > length) return `More than ${length} values are invalid: the first ${length} are in errors.`
  if (count > 1) return `${count} values are invalid: see errors.`
  return first?.message ?? 'The request is invalid.'
}

/** An issue with a field of the body. */
export function bodyIssue(field: string, code: Issue['code'], message: string): Issue {
  return { in: 'body', field, pointer: `/${field.replaceAll('.', '/')}`, code, message }
}

/** An issue with a query parameter. */
export function queryIssue(name: string, code: Issue['code'], message: string): Issue {
  return { in: 'query', field: name, pointer: `/${name}`, code, message }
}

/** The 404 of an object, the same whether it never existed, is gone, or is another account's. */
export function notFound(code: ProblemCode): ApiError {
  const noun = code.replace('_not_found', '').replace('_', ' ')
  return new ApiError(code, `There is no ${noun} with this id in your account.`)
}
