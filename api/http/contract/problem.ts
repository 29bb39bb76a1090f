import Type, { type Static, type TSchema } from 'typebox'

/**
 * A type of problem (RFC 9457, 4). Clients decide by its code, never by the texts. Each feature defines its types, and
 * its routes list the types that they can reply with.
 */
export interface ProblemType {
  readonly code: string
  readonly status: number
  readonly title: string
  /** The reply has a Retry-After header. */
  readonly isRetried?: true
  /** Members that its documents have besides those of every problem. */
  readonly members?: Readonly<Record<string, TSchema>>
}

/** Problem types by their codes. */
export function defineProblems<Code extends string>(
  table: Readonly<Record<Code, Omit<ProblemType, 'code'>>>,
): Readonly<Record<Code, ProblemType>> {
  const types = Object.entries<Omit<ProblemType, 'code'>>(table).map(([code, type]) => [
    code,
    { code, ...type },
  ])
  return Object.fromEntries(types) as Record<Code, ProblemType> // of the same keys
}

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
  'password_too_common',
] as const

/** One mistake in a request: its place, and what to do. */
export const Issue = Type.Object(
  {
    in: Type.Enum(['body', 'query', 'path', 'header'], { description: 'The part of the request' }),
    field: Type.String({ description: 'Name of the field; dots separate nested names', examples: ['name'] }),
    pointer: Type.String({
      description: 'JSON Pointer (RFC 6901) into the body; for a query parameter, / and its name',
      examples: ['/name'],
    }),
    code: Type.Enum([...issueCodes], { description: 'Stable code for programs' }),
    message: Type.String({
      description: 'Explanation of the mistake, for people',
      examples: ['name is required.'],
    }),
  },
  { title: 'Issue', description: 'One mistake in a request' },
)
export type Issue = Static<typeof Issue>

/** Errors that any route can reply with, or the server before a request reaches its route. */
export const httpProblems = defineProblems({
  bad_request: { status: 400, title: 'The request is malformed' },
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  missing_token: { status: 401, title: 'A token is required' },
  invalid_token: { status: 401, title: 'The token is not valid' },
  token_expired: { status: 401, title: 'The token has expired' },
  token_revoked: { status: 401, title: 'The token was revoked' },
  session_ended: { status: 401, title: 'The session has ended' },
  address_not_allowed: { status: 403, title: 'The token may not be used from this address' },
  origin_not_allowed: { status: 403, title: 'Pages of other origins may not do this' },
  person_required: { status: 403, title: 'Only a person who has signed in may do this' },
  account_token_required: { status: 403, title: "An operator's token is not valid for an account" },
  operator_required: { status: 403, title: "Only a person with the operator's role may do this" },
  two_factor_required: { status: 403, title: 'An operator needs two-factor authentication' },
  no_account: { status: 403, title: 'The person is not a member of any account' },
  account_frozen: { status: 403, title: 'The operator has frozen the account' },
  not_a_member: { status: 403, title: 'The person is not in this account' },
  insufficient_scope: {
    status: 403,
    title: 'The token lacks a scope',
    members: {
      required_scope: Type.String({ description: 'The scope that is needed', examples: ['servers:write'] }),
      accepted_scopes: Type.Array(Type.String({ examples: ['servers:write'] }), {
        description: 'Scopes that are accepted; one of them is enough',
      }),
    },
  },
  route_not_found: { status: 404, title: 'No such path' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  idempotency_key_in_use: { status: 409, title: 'A request with this key is in progress', isRetried: true },
  precondition_failed: { status: 412, title: 'The object has changed' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body has the wrong content type' },
  validation_failed: {
    status: 422,
    title: 'The request has invalid values',
    members: { errors: Type.Array(Issue, { description: 'Every mistake, at most the first 100' }) },
  },
  idempotency_key_reused: { status: 422, title: 'The key was used for another request' },
  rate_limited: { status: 429, title: 'Too many requests', isRetried: true },
  internal_error: { status: 500, title: 'Internal error' },
  backend_unavailable: { status: 503, title: 'The service is not available right now', isRetried: true },
})

/** RFC 9457, with our code and request id; some codes carry further members. */
export const Problem = Type.Object(
  {
    type: Type.String({ format: 'uri-reference', description: 'urn:berth:problem: followed by the code' }),
    title: Type.String({ description: 'Kind of error, for people' }),
    status: Type.Integer({ description: 'The HTTP status' }),
    detail: Type.String({ description: 'The fault and its remedy, in a sentence or more for people' }),
    instance: Type.String({ description: 'Path of the request' }),
    code: Type.String({ description: 'Stable code for programs' }),
    request_id: Type.String({
      description: 'Id of the request; quote it when you report a problem to the operator',
    }),
  },
  {
    title: 'Problem',
    description: 'A problem document (RFC 9457): act on `code`, show `detail` to people',
    additionalProperties: true,
    examples: [
      {
        type: 'urn:berth:problem:invalid_json',
        title: httpProblems.invalid_json.title,
        status: httpProblems.invalid_json.status,
        detail: 'The body is not valid UTF-8.',
        instance: '/v1/account/projects',
        code: 'invalid_json',
        request_id: '6a1de9b8-52f4-4b0c-9d57-0e1f5b0a7c55',
      },
    ],
  },
)

/** Thrown anywhere under a route; turned into problem+json in one place. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly type: ProblemType
  readonly extra: Record<string, unknown>
  readonly headers: Record<string, string>

  /**
   * @param detail what happened and what to do, for the customer
   * @param extra members that the code's documentation names
   */
  constructor(
    type: ProblemType,
    detail: string,
    extra: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) {
    super(detail)
    this.type = type
    this.extra = extra
    this.headers = headers
  }

  /** The same error with a sentence more. */
  with(advice: string): ApiError {
    return new ApiError(this.type, `${this.message} ${advice}`, this.extra, this.headers)
  }

  /** The problem+json document. */
  toProblem(requestId: string, instance: string) {
    const { code, status, title } = this.type
    return {
      type: `urn:berth:problem:${code}`,
      title,
      status,
      detail: this.message,
      instance,
      code,
      request_id: requestId,
      ...this.extra,
    }
  }
}

/** The most issues in one reply: a request with more mistakes was probably not meant for this route. */
export const MAX_ISSUES = 100

/** The most bytes of errors in one reply: a client that sends long names need not get them all back. */
const MAX_ISSUES_BYTES = 32_000
const MAX_NAME = 100
const MAX_MESSAGE = 300

/**
 * Shortens text from outside to a length at which a reader still recognizes it. @param length in UTF-16 code units
 */
export function cut(text: string, length = MAX_NAME): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
}

/** The 422 error that lists all mistakes at once. */
export function invalid(issues: Issue[]): ApiError {
  let room = MAX_ISSUES_BYTES
  const errors: Issue[] = []
  for (const { field, pointer, message, ...rest } of issues.slice(0, MAX_ISSUES)) {
    const shown = { ...rest, field: cut(field), pointer: cut(pointer), message: cut(message, MAX_MESSAGE) }
    room -= Buffer.byteLength(JSON.stringify(shown))
    if (room < 0) break
    errors.push(shown)
  }
  return new ApiError(httpProblems.validation_failed, summary(issues.length, errors), { errors })
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

/** The 404 for an object. It is the same for one that never existed, was deleted, or belongs to another account. */
export function notFound(type: ProblemType): ApiError {
  const noun = type.code.replace('_not_found', '').replace('_', ' ')
  return new ApiError(type, `Your account has no ${noun} with this id.`)
}

/**
 * Returns the row that a query found in an account.
 * @throws ApiError of this type if there is no row
 */
export function found<Row>(row: Row | undefined, type: ProblemType): Row {
  if (row === undefined) throw notFound(type)
  return row
}
