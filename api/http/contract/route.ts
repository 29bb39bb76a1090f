import type { Static, TObject, TSchema } from 'typebox'
import type { Queries } from '../../database/database.ts'
import {
  type Actor,
  acceptedFor,
  type OperatorScope,
  operatorScopes,
  type Scope,
  type ScopeName,
  type SignedIn,
} from './auth.ts'
import { httpProblems, type ProblemType } from './problem.ts'

/** The path under which the API is mounted. */
export const PREFIX = '/v1'
/** The path of the interface that is compatible with hcloud. */
export const HCLOUD_PREFIX = '/hcloud/v1'

/** The kind of thing a request does; the status of its account decides which kinds are allowed. */
export type Deed = 'read' | 'follow' | 'stop' | 'delete' | 'pay' | 'answer' | 'change'

/**
 * The callers of a route that needs no scope of an account: anybody, any person who has signed in, or an operator, by
 * role or by a token with this scope.
 */
export type Audience = 'anybody' | 'person' | OperatorScope
const AUDIENCES: readonly string[] = ['anybody', 'person', ...operatorScopes] satisfies Audience[]

export function isAudience(scope: Scope | Audience): scope is Audience {
  return AUDIENCES.includes(scope)
}

/** The address and user agent that a request comes from. */
export interface Visit {
  address: string
  userAgent: string
  /** The request came over TLS. */
  isSecure: boolean
}

export type Replies = Readonly<Record<number, TSchema | null>>

/**
 * Stores the id of the object that a request creates, in the same transaction; a repeat with its Idempotency-Key
 * finds it.
 */
export type Remember = (tx: Queries, id: string) => Promise<void>

/** The arguments of a route's `run`. */
export interface Call<Params extends string, Query, Body, Loaded> {
  /** @throws ApiError if the route is also for callers without an account, and the caller has none */
  actor: Actor
  /** @throws ApiError if nobody has signed in */
  signedIn: SignedIn
  visit: Visit
  params: Record<Params, string>
  query: Query
  body: Body
  /** @throws ApiError validation_failed, payload_too_large; Error on a route whose body is no part of a file */
  part: Part
  /** The object that the path names, as `load` returned it. */
  loaded: Loaded
  remember: Remember
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  /** The requested path and query, from /v1 on. */
  url: string
  /** The If-Match header of a change. */
  ifMatch: string | undefined
  /** The Last-Event-ID header: where a stream continues. */
  lastEventId: string | undefined
  /** The Accept header: the types of content that the client wants. */
  accept: string | undefined
  setHeader: SetHeader
  /** Passes the action of the request to the security log; it is logged if the request succeeds. */
  report(report: Report): void
  /** Needed only if a route has several success statuses; the first is the default. */
  setStatus(status: number): void
}

/** A part of a file, which is the body of a request. */
export interface Part {
  /** Its place in the file. */
  offset: number
  bytes: number
  /** Ends after that many bytes, or with an error. */
  content: AsyncIterable<Buffer>
}

export type SetHeader = (name: string, value: string) => void

/** An action that gets a line in the security log. */
export interface Report {
  event: 'secret_shown' | 'token_created' | 'token_revoked' | PersonEvent
  objectId: string
  /** The person who has just signed in. */
  personId?: string
}

type PersonEvent =
  | 'account_suspended'
  | 'account_frozen'
  | 'account_resumed'
  | 'account_closed'
  | 'account_credited'
  | 'account_debited'
  | 'payment_refunded'
  | 'document_corrected'
  | 'announcement_changed'
  | 'catalog_changed'
  | 'complaint_changed'
  | 'transfer_booked'
  | 'promo_code_created'
  | 'promo_code_revoked'
  | 'login_link_created'
  | 'server_suspended'
  | 'server_resumed'
  | 'server_moved'
  | 'server_deleted'
  | 'signed_in'
  | 'signed_out'
  | 'session_revoked'
  | 'password_changed'
  | 'email_changed'
  | 'person_deleted'
  | 'two_factor_on'
  | 'two_factor_off'
  | 'recovery_codes_replaced'
  | 'passkey_added'
  | 'passkey_removed'
  | 'identity_added'
  | 'identity_removed'

interface Described<Params extends string, Query extends TObject, Body extends TObject, Loaded> {
  /** The operationId: unique, a verb and a noun. */
  id: string
  /** Relative to /v1, with :name for parameters. */
  path: string
  /** The required scope, or the callers of a route without one. A route without it does not compile. */
  scope: Scope | Audience
  /** The kind of request, if it does not follow from the method. */
  deed?: Deed
  /** A further scope that also permits it, if the reply depends on the scopes of the token. */
  orScope?: Scope
  tag: string
  summary: string
  /** At least two sentences for customers: what happens, and what to watch for. */
  description: string
  /** Path parameters, all UUIDs, and the 404 for any other value. */
  params?: Readonly<Record<Params, ProblemType>>
  query?: Query
  /** Headers that only this route uses, with their descriptions. */
  headers?: Readonly<Record<string, string>>
  body?: Body
  /** The most bytes of a body that is a part of a file, whose place is in the header Upload-Offset. */
  partBytes?: number
  /** The schemas of replies, by success status; null is no content. */
  reply: Replies
  /** Members of the example of a success that differ on this route, by status. */
  examples?: Readonly<Record<number, object>>
  /** True if another token must not get the reply, not even one with the same scopes. */
  isOfToken?: true
  /** The content type of a success. (default: application/json) */
  contentType?: string
  /** The content types of a success, if its client decides; `run` sets the one of its reply. */
  contentTypes?: readonly string[]
  /**
   * True if the route shows or ends somebody's access: using up the account's requests must not block such
   * routes.
   */
  isAboutAccess?: true
  /** Replies carry an ETag, and a client that already has this version gets 304. */
  hasEtag?: true
  /** Members that the examples of its errors have on this route alone, by code. */
  problems?: Readonly<Record<string, object>>
  /** Errors that the route can reply with besides those of every route. */
  errors?: readonly ProblemType[]
  /**
   * Finds the object that the path names, before the body is checked: a missing object takes precedence over an invalid
   * body.
   */
  load?: (call: { readonly actor: Actor; params: Record<Params, string> }) => Promise<Loaded>
  run: (call: Call<Params, Static<Query>, Static<Body>, Loaded>) => Promise<unknown>
}

/** A POST that creates something must define how it is repeated, or it does not compile. */
type Repeated<Params extends string, Query extends TObject, Body extends TObject, Loaded> =
  | { method: 'GET' | 'PATCH' | 'PUT'; recover?: never; makesNothing?: never }
  | {
      method: 'DELETE'
      makesNothing?: never
      /** The reply for an object that an earlier try with the same key has deleted, unless it is a 204. */
      recover?: Recover<Params, Query, Body, Loaded>
    }
  | { method: 'POST'; recover?: never; makesNothing: true }
  | { method: 'POST'; recover?: never; makesNothing?: never; isRepeatable: true }
  // Keys belong to accounts, and these callers have none.
  | { method: 'POST'; scope: Exclude<Audience, OperatorScope>; recover?: never; makesNothing?: never }
  | {
      method: 'POST'
      makesNothing?: never
      /** Returns the reply of an earlier try that remembered this object and died before it could reply. */
      recover: Recover<Params, Query, Body, Loaded>
    }

type Recover<Params extends string, Query extends TObject, Body extends TObject, Loaded> = (
  call: Call<Params, Static<Query>, Static<Body>, Loaded>,
  objectId: string,
) => Promise<unknown>

type Definition<Params extends string, Query extends TObject, Body extends TObject, Loaded> = Described<
  Params,
  Query,
  Body,
  Loaded
> &
  Repeated<Params, Query, Body, Loaded>

/** A route as the server mounts it and as openapi.json describes it. */
export interface Route extends Omit<Described<string, TObject, TObject, unknown>, 'load' | 'run'> {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  load?: (call: { readonly actor: Actor; params: Record<string, string> }) => Promise<unknown>
  run: (call: Call<string, unknown, unknown, unknown>) => Promise<unknown>
  recover?: (call: Call<string, unknown, unknown, unknown>, createdId: string) => Promise<unknown>
  /** True for a POST that only reads; it counts as a read. */
  makesNothing?: true
  /** A POST that does no harm when it is repeated, so it takes no Idempotency-Key. */
  isRepeatable?: true
}

export function deedOf({ method, deed }: Pick<Route, 'method' | 'deed'>): Deed {
  const usual = { GET: 'read', POST: 'change', PATCH: 'change', PUT: 'change', DELETE: 'delete' } as const
  return deed ?? usual[method]
}

/** True if replies carry an ETag: a client may have the version already, or bases its next change on it. */
export function carriesEtag(route: Pick<Route, 'hasEtag' | 'errors'>): boolean {
  return route.hasEtag === true || takesIfMatch(route)
}

export function takesIfMatch({ errors }: Pick<Route, 'errors'>): boolean {
  return errors?.includes(httpProblems.precondition_failed) === true
}

export function audienceOf({ scope }: Pick<Route, 'scope'>): 'anybody' | 'person' | 'operator' | null {
  if (isForOperators(scope)) return 'operator'
  return isAudience(scope) ? scope : null
}

export function isForOperators(scope: Scope | Audience): scope is OperatorScope {
  return operatorScopes.some((name) => name === scope)
}

/**
 * True if its requests can be repeated with an Idempotency-Key. An operator's key belongs to the account of the
 * object in the path, or to the account that receives a moved object.
 */
export function takesKey(route: Pick<Route, 'method' | 'scope' | 'isRepeatable' | 'makesNothing'>): boolean {
  const audience = audienceOf(route)
  if (route.isRepeatable) return false
  if (route.method === 'DELETE') return audience === null
  // A route that creates nothing names no account that could own the key.
  return route.method === 'POST' && (audience === null || (audience === 'operator' && !route.makesNothing))
}

/** The scopes of which an actor must hold one; empty if the route is also for other callers. */
export function acceptedBy({ scope, orScope }: Pick<Route, 'scope' | 'orScope'>): ScopeName[] {
  if (isAudience(scope)) return []
  return [...new Set([...acceptedFor[scope], ...(orScope ? acceptedFor[orScope] : [])])]
}

/** Declares a route; the schemas give `run` its types. */
export function route<
  const Params extends string = never,
  Query extends TObject = TObject<Record<never, never>>,
  Body extends TObject = TObject<Record<never, never>>,
  Loaded = undefined,
>(definition: Definition<Params, Query, Body, Loaded>): Route {
  // Dropping the types is safe here: the server calls `run` only with values that pass the schemas above.
  return definition as unknown as Route
}
