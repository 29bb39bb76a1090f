import type { Chance } from './chance.ts'
import { type Moves, type Owned, shownIn } from './owning.ts'
import { pairOf } from './pairs.ts'
import { mayChange, type Role } from './people.ts'
import type { Process } from './process.ts'
import type { Scheduler } from './scheduler.ts'

export interface Reply {
  status: number
  // Each reader knows the shape that it expects.
  // biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the history
  body: any
}

/** A part of a file as the body of a request. It is truncated if it has fewer bytes than announced. */
export class Part {
  readonly offset: number
  readonly content: Buffer
  readonly bytes: number
  constructor(offset: number, content: Buffer, bytes: number) {
    this.offset = offset
    this.content = content
    this.bytes = bytes
  }
}

function payloadOf(body: unknown): { headers: Record<string, string>; payload?: string | Buffer } {
  if (body === undefined) return { headers: {} }
  if (!(body instanceof Part))
    return { headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) }
  const { offset, bytes, content } = body
  const lengths = { 'upload-offset': String(offset), 'content-length': String(bytes) }
  return { headers: { 'content-type': 'application/octet-stream', ...lengths }, payload: content }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The parts of the world that senders of requests need. */
export interface World {
  scheduler: Scheduler
  processes: readonly Process[]
  /** Reports a broken promise. */
  broken: (what: string) => void
  /** Secrets that no reply and no log may contain. */
  secrets: Set<string>
  /** Counts a rare situation that the simulation should reach. */
  sometimes: (point: string) => void
  /** Returns the current status of a server. */
  serverOf: (serverId: string) => { status: string; cpu: number; ram_mb: number } | undefined
  /** True if one act happens at a time, without faults. */
  isCalm: boolean
  /** The most servers that can exist: one for each idempotency key that was not refused. */
  orders: { most: number }
  /** Returns the current role of a member. */
  roleOf: (memberId: string) => Role | undefined
  moves: Moves
  /** Returns the account that currently owns an object. */
  ownerOf: (table: Owned, id: string) => string | undefined
}

/** The headers that authenticate a request. */
export interface Credential {
  headers: Readonly<Record<string, string>>
  /** The member of an account who is signed in; missing: it is a token. */
  memberId?: string
  /** The account whose objects the sender sees; missing: it is the operator. */
  accountId?: string
}

/** Actions that are refused in a status, which the simulation states independently of the product. */
const senseless: readonly string[] = [
  ...[pairOf('running', 'start'), pairOf('stopped', 'stop'), pairOf('stopped', 'reboot')],
  ...[pairOf('running', 'resize'), pairOf('suspended', 'start')],
]

const RETRIES = 8
/** A key is valid for a day; the margin is for clocks that are set ahead. */
const KEY_MS = 20 * 3600_000

/** Sends requests to any process that answers, as a load balancer does. */
export class Client {
  readonly #world: World
  readonly #credential: Credential
  readonly name: string
  /** The number of requests that were sent. */
  sent = 0
  /** Successful replies by idempotency key. */
  readonly #replies = new Map<string, { text: string; at: number }>()
  /** The keys that were sent: a repeat gets the reply to the first request, whatever has happened since. */
  readonly #keys = new Set<string>()

  constructor(world: World, name: string, credential: Credential) {
    this.#world = world
    this.name = name
    this.#credential = credential
  }

  /** @returns null if the process died before it answered */
  async send(
    chance: Chance,
    method: Method,
    path: string,
    body?: unknown,
    key?: string,
  ): Promise<Reply | null> {
    const { scheduler, sometimes } = this.#world
    const process = chance.pick(this.#world.processes)
    if (!process) return null
    this.sent += 1
    const pair = this.#countPair(method, path, body)
    const sentAt = scheduler.elapsed()
    const isAllowed = this.#mayChange(path)
    const isRepeat = key !== undefined && this.#keys.has(key)
    if (key !== undefined) this.#keys.add(key)
    const { headers, payload } = payloadOf(body)
    const sent = scheduler.as(
      process.actor,
      async () =>
        // The request begins when it is awaited, which has to happen in the name of the process.
        await process.app.http.inject({
          method,
          url: `/v1${path}`,
          ...(payload === undefined ? {} : { payload }),
          headers: {
            ...this.#credential.headers,
            ...headers,
            ...(key === undefined ? {} : { 'idempotency-key': key }),
          },
        }),
    )
    // A dying process cuts off its replies, and the customer may notice that before the death is known.
    const heard = sent.catch((error: { code?: string }) => {
      if (error.code !== 'LIGHT_ECONNRESET') throw error
      return null
    })
    const answer = await Promise.race([heard, process.death.then(() => null)])
    if (!answer) {
      sometimes(`a process died during ${method}`)
      return null
    }
    const isJson = String(answer.headers['content-type'] ?? '').includes('json')
    const reply: Reply = { status: answer.statusCode, body: isJson ? JSON.parse(answer.body) : answer.body }
    this.#judge(method, path, reply)
    if (reply.status < 300) this.#requireOwn(path, reply, sentAt)
    if (method !== 'GET' && reply.status < 300 && !isAllowed && !this.#mayChange(path))
      this.#world.broken(
        `nobody changes anything that their role does not allow: ${this.name} ${method} ${path}`,
      )
    if (this.#world.isCalm && !isRepeat && reply.status < 300 && senseless.includes(pair))
      this.#world.broken(`an action that a status does not allow is refused: ${pair}`)
    if (key !== undefined && reply.status < 300)
      this.#compare(`${method} ${path}`, key, { text: answer.body, at: sentAt })
    return reply
  }

  /**
   * Sends a request until a reply reveals its outcome.
   * @param isRepeatable true if the request needs no key, because a repeat finds the result of the first one
   */
  async insist(
    chance: Chance,
    method: Method,
    path: string,
    body?: unknown,
    isRepeatable = false,
  ): Promise<Reply | null> {
    const { scheduler, sometimes } = this.#world
    const number = chance.below(2 ** 30)
    const key = isRepeatable ? undefined : `key-${number}`
    const isTwice = chance.is(0.05)
    const { actor } = scheduler
    const until = scheduler.elapsed() + KEY_MS
    const { orders } = this.#world
    const isOrder = method === 'POST' && path === '/servers'
    if (isOrder) orders.most += 1
    for (let attempt = 0; attempt < RETRIES; attempt += 1) {
      if (scheduler.elapsed() > until) return null
      const twin = isTwice ? this.send(chance, method, path, body, key) : null
      const reply = await this.send(chance, method, path, body, key)
      await twin
      if (twin) sometimes('a request was sent twice at once')
      if (attempt > 0) sometimes(reply ? 'a request was repeated and answered' : 'a request was lost twice')
      const isUnclear = !reply || reply.status === 503 || reply.body?.code === 'idempotency_key_in_use'
      // A request whose reply was lost may have taken effect before its sender lost the permission.
      const isLate = attempt > 0 && (reply?.status === 401 || reply?.status === 403)
      if (isOrder && !isUnclear && !isLate && reply.status >= 400) orders.most -= 1
      if (!isUnclear) return reply
      await scheduler.cross(actor, 'retry', chance.between(500, 30_000))
    }
    return null
  }

  /** Counts which action meets which status. */
  #countPair(method: Method, path: string, body: unknown): string {
    const { serverOf, sometimes } = this.#world
    const sent = (body ?? {}) as { server_id?: string; cpu?: number; ram_mb?: number; disk_gb?: number } // acts send objects
    const [, id = sent.server_id ?? '', verb] = /^\/servers\/([^/?]+)\/?(\w*)/.exec(path) ?? []
    const server = serverOf(id)
    if (!server) return ''
    const { cpu = server.cpu, ram_mb = server.ram_mb } = sent
    const isOther = cpu !== server.cpu || ram_mb !== server.ram_mb
    const changed = isOther ? 'resize' : 'disk_gb' in sent ? 'grow_disk' : 'update'
    const byMethod = {
      GET: '',
      PUT: '',
      POST: path === '/snapshots' ? 'snapshot' : verb,
      PATCH: changed,
      DELETE: verb || 'delete',
    }
    const pair = pairOf(server.status, byMethod[method] ?? '')
    sometimes(pair)
    return pair
  }

  /** Checks that no account sees another's objects; while a server moves, both accounts may see it. */
  #requireOwn(path: string, { body }: Reply, sentAt: number): void {
    const { accountId } = this.#credential
    const { moves, ownerOf, broken } = this.#world
    if (accountId === undefined || moves.since(sentAt)) return
    for (const { table, id } of shownIn(path, body)) {
      const owner = ownerOf(table, id)
      if (owner !== undefined && owner !== accountId)
        broken(`no account sees objects of another account: ${this.name} ${path} shows ${id}`)
    }
  }

  #mayChange(path: string): boolean {
    const { memberId } = this.#credential
    return memberId === undefined || mayChange(this.#world.roleOf(memberId), path)
  }

  #judge(method: Method, path: string, { status, body }: Reply): void {
    const { scheduler, broken, secrets, sometimes } = this.#world
    const text = JSON.stringify(body)
    scheduler.note(`${this.name} ${method} ${path} ${status} ${body?.code ?? ''}`)
    sometimes(`${method} ${status}`)
    if (typeof body?.code === 'string') sometimes(`the reply ${body.code}`)
    if (status >= 500 && status !== 503)
      broken(
        `no request causes an internal error: ${method} ${path} was answered with ${status}: ${text.slice(0, 300)}`,
      )
    for (const secret of secrets)
      if (text.includes(secret)) broken(`a secret is shown once: a reply to ${method} ${path} has one`)
  }

  /** Checks that a repeat with the same key gets the same reply. */
  #compare(what: string, key: string, reply: { text: string; at: number }): void {
    const { scheduler, broken, sometimes } = this.#world
    const before = this.#replies.get(key)
    this.#replies.set(key, before ?? reply)
    // A repeat that arrives after more than a day counts as a new request.
    if (!before || scheduler.elapsed() - before.at > KEY_MS) return
    sometimes('a key got the same reply again')
    if (before.text === reply.text) return
    const at = [...before.text].findIndex((letter, place) => letter !== reply.text[place])
    const said = [before, reply].map(({ text }) => text.slice(Math.max(0, at - 60), at + 120))
    broken(`a key gets the same reply: ${what} had … ${said.join(' … and … ')} …`)
  }
}

/** Sends a provider's notification of a changed payment, which the service must not trust. */
export async function hint(
  { scheduler, processes, broken }: World,
  chance: Chance,
  id: string,
): Promise<void> {
  const process = chance.pick(processes)
  if (!process) return
  const payload = { type: 'notification', event: 'payment.succeeded', object: { id } }
  const sent = scheduler.as(process.actor, async () =>
    process.app.http.inject({ method: 'POST', url: '/payments/yookassa/notify', payload }),
  )
  const answer = await Promise.race([sent.catch(() => null), process.death.then(() => null)])
  if (answer && answer.statusCode !== 200 && answer.statusCode !== 503)
    broken(`a notification is answered: with ${answer.statusCode}`)
}

export function bearer(token: string, accountId?: string): Credential {
  const headers = { authorization: `Bearer ${token}` }
  return accountId === undefined ? { headers } : { headers, accountId }
}

export function outcomeOf(reply: Reply | null | undefined): string {
  if (!reply) return 'no answer'
  return [reply.status, reply.body?.code].filter(Boolean).join(' ')
}
