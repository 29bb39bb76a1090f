import Type, { type TObject } from 'typebox'
import { type Components, exampleOf, type Json, plain } from './components.ts'
import { ApiError, httpProblems, Problem, type ProblemType } from './problem.ts'
import { header, headers, refs } from './reply-headers.ts'
import { acceptedBy, audienceOf, isForOperators, PREFIX, type Route, takesKey } from './route.ts'

/** Errors that every route can reply with. */
const EVERYWHERE = [
  httpProblems.bad_request,
  httpProblems.origin_not_allowed,
  httpProblems.rate_limited,
  httpProblems.internal_error,
  httpProblems.backend_unavailable,
]
const OF_PERSON = [httpProblems.missing_token, httpProblems.session_ended, httpProblems.person_required]
const OF_TOKEN = [
  httpProblems.missing_token,
  httpProblems.invalid_token,
  httpProblems.token_expired,
  httpProblems.token_revoked,
  httpProblems.address_not_allowed,
  httpProblems.insufficient_scope,
]
const OF_OPERATOR = [
  ...OF_TOKEN,
  ...OF_PERSON,
  httpProblems.operator_required,
  httpProblems.two_factor_required,
]
const OF_ACCOUNT = [
  ...OF_TOKEN,
  httpProblems.session_ended,
  httpProblems.account_token_required,
  httpProblems.account_frozen,
  httpProblems.no_account,
  httpProblems.not_a_member,
]
const BY_AUDIENCE = { anybody: [], person: OF_PERSON, operator: OF_OPERATOR, account: OF_ACCOUNT }
const OF_KEY = [httpProblems.idempotency_key_in_use, httpProblems.idempotency_key_reused]
/** A body is read before it is known whether the route accepts one. */
const OF_WRITE = [
  httpProblems.invalid_json,
  httpProblems.payload_too_large,
  httpProblems.unsupported_media_type,
]

/**
 * Returns the schema of all problems. Codes without further members share a schema; each of the others has
 * its own.
 */
export function problemSchema(routes: readonly Route[]): TObject {
  const types = new Map(
    [...Object.values(httpProblems), ...routes.flatMap(problemsOf)].map((type) => [type.code, type]),
  )
  const [plainTypes, others] = [
    [...types.values()].filter(isPlain),
    [...types.values()].filter((type) => !isPlain(type)),
  ]
  const { code: _, ...common } = Problem.properties
  const form = (title: string, description: string, these: readonly ProblemType[]) =>
    Type.Object(
      {
        ...common,
        code: Type.Enum(these.map((type) => type.code).sort(), { description: 'Stable code for programs' }),
        ...these[0]?.members,
      },
      { title, description, examples: these.slice(0, 1).map((type) => problemOf(type)) },
    )
  return Type.Object(Problem.properties, {
    ...plain(Problem),
    discriminator: { propertyName: 'code' },
    forms: [
      form('PlainProblem', 'An error without further members', plainTypes),
      ...others.map((type) => form(`${pascal(type.code)}Problem`, type.title, [type])),
    ],
  })
}

const isPlain = ({ members }: ProblemType) => members === undefined

/** Statuses of refusals that are repeated for the same Idempotency-Key, if the route is a POST. */
const REPLAYED = [402, 404, 409, 422]

function problemsOf(route: Route): ProblemType[] {
  return [
    ...EVERYWHERE,
    ...BY_AUDIENCE[audienceOf(route) ?? 'account'],
    ...Object.values(route.params ?? {}),
    ...(route.method === 'GET' ? [] : OF_WRITE),
    httpProblems.validation_failed,
    ...(takesKey(route) ? OF_KEY : []),
    ...(route.errors ?? []),
  ]
}

/** Refusals, by status; routes that refuse for the same reasons share them. */
export function failures(route: Route, components: Components): Json {
  const types = new Set(problemsOf(route))
  for (const type of types)
    components.examples[nameOn(route, type)] ??= { value: problemOf(type, membersOn(route, type)) }
  const byStatus = Map.groupBy(types, ({ status }) => status)
  return Object.fromEntries(
    [...byStatus].map(([status, these]) => {
      const isReplayed = route.method === 'POST' && takesKey(route) && REPLAYED.includes(status)
      const ordered = these.toSorted((a, b) => (a.code < b.code ? -1 : 1))
      const names = ordered.map((type) => nameOn(route, type))
      const name = `${names.map(pascal).join('Or')}${isReplayed ? 'OfPost' : ''}`
      components.responses[name] = failure(status, ordered, names, isReplayed)
      return [String(status), { $ref: `#/components/responses/${name}` }]
    }),
  )
}

const pascal = (code: string) => code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Members that the example of a problem has on this route alone. */
function membersOn(route: Route, type: ProblemType): object | undefined {
  if (type === httpProblems.insufficient_scope)
    return {
      required_scope: route.scope,
      accepted_scopes: isForOperators(route.scope) ? [route.scope] : acceptedBy(route),
    }
  return route.problems?.[type.code]
}

/** The name of an example, which routes with the same example share. */
function nameOn(route: Route, type: ProblemType): string {
  if (type === httpProblems.insufficient_scope)
    return [type.code, route.scope, ...(route.orScope ? [route.orScope] : [])].join('_').replaceAll(':', '_')
  return membersOn(route, type) ? `${type.code}_${route.id}` : type.code
}

function failure(
  status: number,
  types: readonly ProblemType[],
  names: readonly string[],
  isReplayed: boolean,
): Json {
  return {
    description: types.map(({ code, title }) => `\`${code}\`: ${title}`).join('\n\n'),
    headers: failureHeaders(status, types, isReplayed),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(
          types.map(({ code }, at) => [code, { $ref: `#/components/examples/${names[at]}` }]),
        ),
      },
    },
  }
}

function failureHeaders(status: number, types: readonly ProblemType[], isReplayed: boolean): Json {
  const own = refs(
    ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
    ...(status === 412 ? (['ETag'] as const) : []),
    ...(status === 415 ? (['Accept-Encoding'] as const) : []),
    ...(isReplayed ? (['Idempotency-Replayed'] as const) : []),
  )
  const retried = types.filter(({ isRetried }) => isRetried)
  if (retried.length === 0) return own
  if (retried.length === types.length) return { ...own, ...refs('Retry-After') }
  const description = `${headers['Retry-After'].description}; with ${retried.map(({ code }) => `\`${code}\``).join(' and ')}`
  return { ...own, 'Retry-After': header(description, '1', false) }
}

/** A problem document with the members common to all. */
function problemOf(type: ProblemType, own?: object): object {
  const members = { ...(type.members ? Object(exampleOf(Type.Object({ ...type.members }))) : {}), ...own }
  return new ApiError(type, type.title, members).toProblem(
    '6a1de9b8-52f4-4b0c-9d57-0e1f5b0a7c55',
    `${PREFIX}/…`,
  )
}
