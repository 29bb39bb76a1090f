import type { OpenApi, Operation } from '../../acceptance/harness/schema.ts'
import { NOBODY } from '../../api/harness/ordering.ts'
import { randomNumbers } from './load.ts'

export interface World {
  /** The API's description, in which each operation includes what several share. */
  document: OpenApi
  /** A valid body of POST /servers. */
  order: Record<string, unknown>
  /** A token with all scopes, one that can only read, and invalid ones. */
  tokens: { all: string; reader: string; bad: readonly string[] }
  /** Ids of existing objects, including those that requests create. */
  ids: string[]
}

const TEXTS = [
  '',
  ' ',
  'a',
  'x'.repeat(64),
  'x'.repeat(256),
  'é\u0301👩‍👩‍👧',
  '\u0000',
  '\ud800',
  '-1',
  '__proto__',
  "' OR 1=1 --",
  '<script>',
  '../..',
  '%00',
]
const VALUES: unknown[] = [...TEXTS, null, true, 0, -1, 1.5, 1e300, [], {}, [[[]]], { a: { b: 1 } }]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
const HEADERS = [
  'content-type: text/plain',
  'content-type: ',
  'content-type: application/json; charset=x',
  'content-encoding: gzip',
  'expect: 100-continue',
  'upgrade: websocket',
  'if-match: "x"',
  'if-none-match: *',
  'idempotency-key: ',
  `idempotency-key: ${'k'.repeat(256)}`,
  'accept: text/html',
  'range: bytes=0-1',
  'x-forwarded-for: ::1',
  'cookie: a=b',
]

/** A stream has no end to wait for. A valid order of an image or ISO fetches a file from another host. */
const isAnswered = (path: string) => !['/events/stream', '/images', '/isos'].includes(path)

/** Requests as bytes, valid and not, that follow from the seed. */
export class Requests {
  readonly #world: World
  readonly #random: () => number

  constructor(world: World, seed: number) {
    this.#world = world
    this.#random = randomNumbers(seed)
  }

  /** Only whole requests are sent with a token that may change something, because their replies show the outcome. */
  next(): { bytes: Buffer; isWhole: boolean } {
    if (this.#chance(0.8)) return { bytes: Buffer.from(this.#whole(this.#token())), isWhole: true }
    const whole = Buffer.from(this.#whole(this.#world.tokens.reader))
    return { bytes: this.#chance(0.1) ? this.#noise(200) : this.#damaged(whole), isWhole: false }
  }

  #token(): string {
    const { all, reader, bad } = this.#world.tokens
    return this.#chance(0.85) ? all : this.#chance(0.5) ? reader : this.#pick(bad)
  }

  #whole(token: string): string {
    const path = this.#pick(Object.keys(this.#world.document.paths).filter(isAnswered))
    const described = this.#world.document.paths[path] ?? {}
    const method = this.#chance(0.9) ? this.#pick(Object.keys(described)).toUpperCase() : this.#pick(METHODS)
    const operation = described[method.toLowerCase()]
    const ids = path.replace(/\{\w+\}/g, () => this.#id())
    const target = this.#chance(0.93) ? ids : `/${encodeURI(this.#text().toWellFormed())}${ids}`
    const body = this.#body(path, operation)
    const lines = [
      `${method} /v1${target}${this.#query(operation)} HTTP/1.1`,
      'host: test',
      'connection: close',
      ...(token ? [`authorization: Bearer ${token}`] : []),
      ...(this.#chance(0.1) ? [`idempotency-key: key-${Math.floor(this.#random() * 50)}`] : []),
      ...(this.#chance(0.1) ? [this.#pick(HEADERS)] : []),
      ...(body ? ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`] : []),
    ]
    return `${lines.join('\r\n')}\r\n\r\n${body}`
  }

  #id(): string {
    if (this.#chance(0.8)) return this.#pick(this.#world.ids)
    return this.#pick([NOBODY, 'x', '%zz', '%00', '..%2f', 'x'.repeat(400), NOBODY.toUpperCase()])
  }

  #query(operation: Operation | undefined): string {
    const names = (operation?.parameters ?? []).flatMap((one) => (one.in === 'query' ? [one.name] : []))
    const good = ['local-1', 'amd', '1', '2', 'running', '-name']
    const parts = names.flatMap((name) => {
      if (this.#chance(0.4)) return []
      const value = this.#chance(0.7) ? this.#pick(good) : this.#text().toWellFormed()
      return [`${name}=${encodeURIComponent(value)}`]
    })
    if (this.#chance(0.1))
      parts.push(this.#pick(['limit=1&limit=2', '%zz', 'a[b]=c', '&&==', 'x'.repeat(5_000)]))
    return parts.length > 0 ? `?${parts.join('&')}` : ''
  }

  #body(path: string, operation: Operation | undefined): string {
    const { $ref = '' }: { $ref?: string } = operation?.requestBody?.content['application/json']?.schema ?? {}
    const [example] = this.#world.document.components.schemas[$ref.split('/').at(-1) ?? '']?.examples ?? []
    const order = this.#world.order
    const known = path === '/servers' || path === '/pricing/quote' ? order : Object.assign({}, example)
    if (!example) return this.#chance(0.9) ? '' : '{}'
    if (this.#chance(0.1)) return this.#brokenText(JSON.stringify(known))
    const changes = this.#chance(0.4) ? 0 : 1 + Math.floor(this.#random() * 3)
    const body: Record<string, unknown> = { ...known }
    for (let change = 0; change < changes; change++) {
      const name = this.#pick(this.#chance(0.7) ? [...Object.keys(known), 'force'] : TEXTS)
      if (this.#chance(0.2)) delete body[name]
      else body[name] = this.#pick(VALUES)
    }
    return JSON.stringify(body)
  }

  #brokenText(text: string): string {
    const cut = Math.floor(this.#random() * text.length)
    return this.#pick([
      text.slice(0, cut),
      text.slice(cut),
      '['.repeat(cut * 10),
      `${'['.repeat(cut * 100)}${']'.repeat(cut * 100)}`,
      `{${'"a":{'.repeat(cut)}`,
      `{${Array.from({ length: cut }, (_, at) => `"f${at}":1`)}}`,
      `{"name":"${'x'.repeat(cut * 100)}"}`,
      'x'.repeat(this.#chance(0.1) ? 300_000 : 3),
    ])
  }

  /** Returns the request with some bytes changed, removed, doubled or inserted. */
  #damaged(bytes: Buffer): Buffer {
    const at = Math.floor(this.#random() * bytes.length)
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
    return this.#pick([
      () => before,
      () => after,
      () => Buffer.concat([bytes, bytes]),
      () => Buffer.concat([before, this.#noise(20), after]),
      () => Buffer.concat([before, Buffer.from('\r\n'), after]),
      () => Buffer.concat([before, after.subarray(5)]),
    ])()
  }

  #noise(most: number): Buffer {
    return Buffer.from(Array.from({ length: 1 + this.#random() * most }, () => this.#random() * 256))
  }

  #text(): string {
    return this.#pick(TEXTS)
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #pick<T>(list: readonly T[]): T {
    const one = list[Math.floor(this.#random() * list.length)]
    if (one === undefined) throw new Error('there is nothing to pick from')
    return one
  }
}
