import type { FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import type { Clock } from '../clock.ts'
import type { KeyedMutex } from '../concurrency.ts'
import type { Database } from '../database/database.ts'
import type { Actor } from '../http/contract/auth.ts'
import { MAX_LIMIT } from '../http/contract/paging.ts'
import type { Recent } from '../http/limits/recent.ts'
import { actorOf, knownOf } from '../http/server/call.ts'
import type { Operation } from '../operations/schema.ts'
import { projectsOf, serverNames } from '../servers/queries.ts'
import type { Server } from '../servers/schema.ts'
import { missing } from './errors.ts'
import type { Inquiry, Interior } from './interior.ts'
import { type Links, readLinks } from './links.ts'
import { type Kind, type Numbered, type Numbers, Ref, type Shown } from './numbers.ts'

/** A number in a path or a query; others name nothing. */
const NUMBER = /^[1-9]\d{0,14}$/

/** Shared values are read again after this many milliseconds. */
const FRESH_MS = 10_000

/** An object that a server may have. */
interface Held {
  server_id?: string | null
}
const holderOf = ({ server_id = null }: Held) => server_id

/** The parts of the interface that all its requests use. */
export interface HcloudParts {
  interior: Interior
  numbers: Numbers
  /** Values that are the same for all accounts with the same prices, with the time at which each was read. */
  shared: Recent<{ at: number; value: unknown }>
  /** Operations that have ended, which never change again, so that polls of them read nothing. */
  ended: Recent<Operation>
  db: Database
  /** Operations by the projects whose tokens have seen them, so that polls do not ask again whose they are. */
  seen: Recent<true>
  /** Locks an account while a request sets a name. */
  naming: KeyedMutex
  clock: Clock
}

/** One request: its parts, the use cases that it may call, and the objects that its reply shows. */
export class Exchange {
  readonly accountId: string
  readonly #actor: Actor
  /** The project of the token; only servers of this project are visible. */
  readonly projectId: string
  readonly query: URLSearchParams
  readonly #request: FastifyRequest
  readonly #interior: Interior
  readonly #numbers: Numbers
  readonly #shared: HcloudParts['shared']
  readonly #ended: HcloudParts['ended']
  readonly #seen: HcloudParts['seen']
  readonly #db: Database
  readonly #clock: Clock
  readonly #refs: Ref[] = []

  constructor(request: FastifyRequest, parts: HcloudParts) {
    const actor = actorOf(knownOf(request))
    this.accountId = actor.accountId
    this.#actor = actor
    this.projectId = actor.projectId ?? ''
    const at = request.url.indexOf('?')
    this.query = new URLSearchParams(at === -1 ? '' : request.url.slice(at + 1))
    this.#request = request
    this.#interior = parts.interior
    this.#numbers = parts.numbers
    this.#shared = parts.shared
    this.#ended = parts.ended
    this.#seen = parts.seen
    this.#db = parts.db
    this.#clock = parts.clock
  }

  /** The prices of the account, as text. */
  get terms(): string {
    return JSON.stringify(this.#actor.terms)
  }

  now(): number {
    return this.#clock.now()
  }

  /** A number of the path. */
  param(name: string): string {
    const { [name]: value = '' } = Object(this.#request.params) as Record<string, string> // the router gives strings
    return value
  }

  /** Calls a route of /v1. */
  async v1<Reply>(id: string, inquiry: Inquiry = {}): Promise<Reply> {
    const { body } = await this.#interior.call(this.#request, id, inquiry)
    return body as Reply // of the route's own schema
  }

  /** Calls a route of /v1 that begins an operation. @returns the id of the operation */
  async begin(id: string, inquiry: Inquiry): Promise<string> {
    const operationId = await this.perhapsBegin(id, inquiry)
    if (operationId === null) throw new Error(`${id} began no operation`)
    return operationId
  }

  /** Calls a route of /v1 that may have nothing to do. @returns the id of its operation; null if none began */
  async perhapsBegin(id: string, inquiry: Inquiry): Promise<string | null> {
    return (await this.#interior.call(this.#request, id, inquiry)).operationId
  }

  /** Undoes the first step of a request if its next step is refused, since one reply covers both. */
  async orUndo<Reply>(step: Promise<Reply>, undo: string, params: Record<string, string>): Promise<Reply> {
    try {
      return await step
    } catch (error) {
      await this.v1(undo, { params })
      throw error
    }
  }

  /** Reads an operation of the account, from memory if it has ended. */
  async operation(id: string): Promise<Operation> {
    const route = 'getAccountOperation'
    const key = `${this.accountId} ${id}`
    const known = this.#ended.get(key)
    if (known) {
      this.#interior.requireScope(this.#request, route)
      return known
    }
    const operation = await this.v1<Operation>(route, { params: { operation_id: id } })
    if (operation.finished_at !== null) this.#ended.set(key, operation)
    return operation
  }

  /**
   * Reads an operation that the token may see. An operation that the token has seen stays visible, even if
   * its server moves.
   * @param shown the number that the request has
   * @throws ApiError not_found
   */
  async ownOperation(id: string, shown: string): Promise<Operation> {
    const operation = await this.operation(id)
    const key = `${this.projectId} ${id}`
    if (this.#seen.get(key)) return operation
    await this.requireOwn(operation, 'action', shown)
    this.#seen.set(key, true)
    return operation
  }

  /** Reads the volumes and firewalls of servers. */
  links(): Promise<Links> {
    return readLinks(this.#db, this.accountId)
  }

  /** Reads all pages of a list of /v1, whose length is limited by quotas. */
  async all<Item>(id: string, query: Record<string, string | number> = {}): Promise<Item[]> {
    const items: Item[] = []
    for (;;) {
      const page = { ...query, limit: MAX_LIMIT, offset: items.length }
      const reply = await this.v1<{ items: Item[]; total: number }>(id, { query: page })
      items.push(...reply.items)
      if (reply.items.length === 0 || items.length >= reply.total) return items
    }
  }

  /** Reads a value that is the same for all accounts with the same prices, or returns it as it was some seconds ago. */
  async shared<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
    const kept = this.#shared.get(name)
    const now = this.now()
    if (kept && Math.abs(now - kept.at) < FRESH_MS) return kept.value as Value // of the same name
    const value = await read()
    this.#shared.set(name, { at: now, value })
    return value
  }

  /** Refers to an object in the reply. */
  ref(kind: Kind, id: string): Shown {
    const known = this.#numbers.peek(kind, id)
    if (known !== undefined) return known
    const ref = new Ref(kind, id)
    this.#refs.push(ref)
    return ref
  }

  /** Gives the objects that were named so far their numbers. */
  async settle(): Promise<void> {
    if (this.#refs.length > 0) await this.#numbers.settle(this.accountId, this.#refs.splice(0))
  }

  /** Finds the object with a number. @throws ApiError not_found if it is not of these kinds */
  async numbered(kinds: readonly Kind[], noun: string, given: string | number): Promise<Numbered> {
    const found = NUMBER.test(String(given)) ? await this.#numbers.find(this.accountId, Number(given)) : null
    if (!found || !kinds.includes(found.kind)) throw missing(noun, given)
    return found
  }

  /** The id of the object with a number. @throws ApiError not_found */
  async idOf(kind: Kind, given: string | number): Promise<string> {
    return (await this.numbered([kind], kind, given)).id
  }

  /** Reads a server of the project by its number. @throws ApiError not_found */
  async server(given: string | number = this.param('id')): Promise<Server> {
    return this.#ownServer(await this.idOf('server', given), given)
  }

  /** Returns the names of the servers that have these objects; long-deleted servers are missing. */
  names(held: readonly Held[]): Promise<ReadonlyMap<string, string>> {
    return serverNames(this.#db, this.accountId, [...new Set(held.flatMap((one) => holderOf(one) ?? []))])
  }

  /** Returns the servers among these that are in other projects; long-deleted servers are in none. */
  async strangers(serverIds: readonly (string | null)[]): Promise<ReadonlySet<string>> {
    const ids = [...new Set(serverIds.filter((id) => id !== null))]
    if (ids.length === 0) return new Set()
    const rows = await projectsOf(this.#db, this.accountId, ids)
    return new Set(rows.flatMap((row) => (row.project_id === this.projectId ? [] : row.server_id)))
  }

  /** Returns the items without those that servers of other projects have. */
  async own<Item extends Held>(items: readonly Item[]): Promise<Item[]> {
    const strangers = await this.strangers(items.map(holderOf))
    return items.filter((item) => !strangers.has(holderOf(item) ?? ''))
  }

  /** @param shown the number that the request has @throws ApiError not_found if a server of another project has it */
  async requireOwn<Item extends Held>(item: Item, noun: string, shown: string | number): Promise<Item> {
    if ((await this.own([item])).length === 0) throw missing(noun, shown)
    return item
  }

  /** @param shown the number that the request has @throws ApiError not_found */
  async #ownServer(server_id: string, shown: string | number): Promise<Server> {
    const server = await this.v1<Server>('getServer', { params: { server_id } })
    if (server.project_id !== this.projectId) throw missing('server', shown)
    return server
  }

  /** Notes that the object with a number is gone. */
  async end(given: string): Promise<void> {
    await this.#numbers.end(this.accountId, Number(given))
  }
}

/** A route of the hcloud interface. */
export interface HcloudRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Relative to the prefix, with :name for parameters. */
  path: string
  /** The status of a success (default: 200, 201 for POST). */
  status?: number
  body?: TObject
  /** True if clients poll this route while they wait. */
  isPoll?: true
  run: (x: Exchange, body: unknown) => Promise<Result>
}

/** The body of a reply, perhaps as JSON with all numbers in it; undefined: there is none. */
type Result = object | string | undefined

/** Declares a route; the schema gives `run` its type. */
export function answer<Body extends TObject = TObject<Record<never, never>>>(
  route: Omit<HcloudRoute, 'body' | 'run'> & {
    body?: Body
    run: (x: Exchange, body: Static<Body>) => Promise<Result>
  },
): HcloudRoute {
  return route as HcloudRoute // run is called only with bodies that pass the schema
}
