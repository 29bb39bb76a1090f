// Random requests to every route that openapi.json names: whatever is sent, the reply is one that the document
// describes, never a 5xx, and a refusal has changed nothing.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type OpenApi, type Operation, Schema, unconventional } from '../../acceptance/harness/schema.ts'
import { type Reply, type TestApp, testApp } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'

/** The words of JSON Schema that request schemas use. */
interface Shape {
  $ref?: string
  type?: string
  enum?: unknown[]
  anyOf?: Shape[]
  properties?: Record<string, Shape>
  required?: string[]
  additionalProperties?: Shape | boolean
  items?: Shape
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
}

/** A request as it is drawn; ids are drawn as numbers, and found in the world of the run. */
interface Draft {
  route: number
  ids: number[]
  query: string
  body: string | undefined
  headers: Record<string, string>
  token: 'all' | 'reader' | 'none' | 'bad'
}

// ---- what is drawn ----

const unicode = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 300 }))
const nasty: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, false, '', ' ', '\0', '\ud800', '😀'.repeat(65), 'e\u0301'.repeat(200)),
  fc.constantFrom(-1, 0, -0, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324),
  fc.constantFrom('__proto__', 'constructor', "'; DROP TABLE servers; --", '../../etc/passwd', '<script>'),
  fc.constantFrom('2090-12-31T23:59:60Z', '9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00Z'),
  fc.constant('{{long}}'),
  fc.integer({ min: 2, max: 2_000 }).map(nested),
  unicode,
  fc.jsonValue(),
)

function nested(depth: number): unknown {
  let value: unknown = []
  for (let at = 0; at < depth; at += 1) value = at % 2 ? [value] : { a: value }
  return value
}

/** Ids that mean something are put in when the request is sent: they are different in each run. */
const ID = (at: number) => `{{id ${at}}}`
const anyId = fc.nat({ max: 40 }).map(ID)

const mostly = (good: unknown[], bad: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...bad) },
  )

/** Names whose values come from the installation: a random one would seldom get past the first check. */
const known: Record<string, fc.Arbitrary<unknown>> = {
  zone_slug: mostly(['local-1'], ['atlantis']),
  template_id: mostly(['{{template}}'], [NOBODY]),
  preset_id: mostly(['{{preset}}'], [NOBODY]),
  public_key: mostly([ed25519(), ed25519()], ['{{key}}', 'ssh-ed25519 AAAA']),
  cpu: mostly([1, 2, 32], [33]),
  ram_mb: mostly([256, 512], [300]),
  disk_gb: mostly([10, 15, 20], [2000, 2005]),
  name: mostly(['web', 'a-1'], ['Web 1', '-']),
  url: mostly(['https://example.com/in', 'http://example.org:8080/?a=b'], ['http://127.0.0.1/', 'x']),
  project_id: mostly([ID(3)], [ID(10), NOBODY]),
  ssh_key_ids: mostly([[], [ID(4)]], [[ID(11)], [ID(4), ID(4)]]),
}

class Generator {
  readonly #schemas: Record<string, object>

  constructor({ components }: OpenApi) {
    this.#schemas = components.schemas
  }

  /** Values that the schema mostly lets through. */
  valid(shape: Shape, name = ''): fc.Arbitrary<unknown> {
    const own = known[name]
    if (own) return own
    if (shape.$ref) return this.valid(this.#schemas[shape.$ref.split('/').at(-1) ?? ''] ?? {})
    if (shape.enum) return fc.constantFrom(...shape.enum)
    if (shape.anyOf) return fc.oneof(...shape.anyOf.map((part) => this.valid(part)))
    if (shape.properties) return this.#object(shape)
    if (shape.type === 'array') {
      const item = this.valid(shape.items ?? {})
      return fc.uniqueArray(item, { maxLength: Math.min(3, shape.maxItems ?? 3) })
    }
    if (shape.type === 'object')
      return fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.string(), { maxKeys: 4 })
    return scalar(shape)
  }

  #object({ properties = {}, required = [] }: Shape): fc.Arbitrary<unknown> {
    const parts = Object.entries(properties).map(([name, part]) => [name, this.valid(part, name)] as const)
    const seldom = parts.map(([name, part]) => {
      const isNeeded = required.includes(name) || parts.length < 5
      return [
        name,
        isNeeded
          ? part
          : fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: part }),
      ] as const
    })
    const all = fc.record(Object.fromEntries(seldom), { requiredKeys: required })
    if (!('plan_type' in properties)) return all
    // A random body mixes fields of both kinds of plan, and would never pass that check.
    const sizes = ['cpu', 'ram_mb', 'disk_gb']
    const without = (value: object, names: string[]) =>
      Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))
    const plan = (names: string[]) => Object.fromEntries(parts.filter(([name]) => names.includes(name)))
    const rest = all.map((value) => without(value, [...sizes, 'preset_id', 'plan_type']))
    const custom = fc.record({ ...plan(sizes), plan_type: fc.constant('custom') })
    const preset = fc.record({ ...plan(['preset_id']), plan_type: fc.constant('preset') })
    const planned = fc.tuple(rest, fc.oneof(custom, preset)).map(([a, b]) => ({ ...a, ...b }))
    const isNeeded = required.includes('plan_type')
    return fc.oneof(
      { weight: isNeeded ? 6 : 2, arbitrary: planned },
      { weight: isNeeded ? 0 : 4, arbitrary: rest },
      { weight: 1, arbitrary: all },
    )
  }

  /** Texts of bodies: valid, a little wrong, altogether wrong, no JSON. */
  body(shape: Shape): fc.Arbitrary<string> {
    const valid = this.valid(shape)
    const change = fc.record({
      at: fc.nat(),
      how: fc.constantFrom('replace' as const, 'remove' as const, 'add' as const),
      value: nasty,
    })
    const changed = fc
      .tuple(valid, fc.array(change, { minLength: 1, maxLength: 3 }))
      .map(([value, changes]) => changes.reduce(applied, value))
    const text = (value: unknown) => JSON.stringify(value) ?? ''
    return fc.oneof(
      { weight: 8, arbitrary: valid.map(text) },
      { weight: 5, arbitrary: changed.map(text) },
      { weight: 1, arbitrary: nasty.map(text) },
      {
        weight: 1,
        arbitrary: fc.tuple(valid, fc.nat({ max: 40 })).map(([value, cut]) => text(value).slice(0, cut)),
      },
      { weight: 1, arbitrary: unicode },
    )
  }

  query(parameters: Operation['parameters']): fc.Arbitrary<string> {
    const ofRoute = parameters.filter((parameter) => parameter.in === 'query')
    const parts = ofRoute.map(({ name, required, schema }) => {
      const value = fc.oneof(
        { weight: 4, arbitrary: this.valid(schema, name) },
        { weight: 1, arbitrary: nasty },
      )
      const pair = value.map((given) => `${name}=${encode(given)}`)
      return required
        ? fc.option(pair, { nil: '', freq: 6 })
        : fc.oneof({ weight: 2, arbitrary: fc.constant('') }, { weight: 1, arbitrary: pair })
    })
    const strange = fc.oneof(
      { weight: 8, arbitrary: fc.constant('') },
      {
        weight: 1,
        arbitrary: fc.constantFrom('limit=1&limit=2', '%zz', 'a[b]=c', '%ff%fe=%00', '&&==', 'sort'),
      },
      { weight: 1, arbitrary: fc.webQueryParameters() },
    )
    return fc.tuple(...parts, strange).map((all) => all.filter(Boolean).join('&'))
  }
}

function encode(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return encodeURIComponent(text.toWellFormed().slice(0, 2_000))
}

function scalar({
  type,
  format,
  minimum,
  maximum,
  minLength = 0,
  maxLength = 40,
}: Shape): fc.Arbitrary<unknown> {
  if (type === 'integer')
    return fc.integer({ min: minimum ?? -5, max: Math.min(maximum ?? 1_000, 1_000_000_000) })
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (format === 'uuid') return anyId
  if (format === 'date-time')
    return fc.date({ min: new Date(0), noInvalidDate: true }).map((date) => date.toISOString())
  const lengths = { minLength, maxLength: Math.min(maxLength, 100) }
  return fc.oneof(fc.string(lengths), fc.string({ ...lengths, unit: 'grapheme' }))
}

interface Change {
  at: number
  how: 'replace' | 'remove' | 'add'
  value: unknown
}

/** The value with one thing changed, somewhere in it. */
function applied(value: unknown, { at, how, value: by }: Change): unknown {
  if (typeof value !== 'object' || value === null) return by
  const copy: Record<string, unknown> = Array.isArray(value) ? { ...value } : { ...value }
  const keys = Object.keys(copy)
  const key = keys[at % Math.max(1, keys.length)]
  if (how === 'add' || key === undefined) copy[`extra${at % 3}`] = by
  else if (how === 'remove') delete copy[key]
  else copy[key] = at % 3 ? by : applied(copy[key], { at: at + 1, how, value: by })
  return Array.isArray(value) ? Object.values(copy) : copy
}

const header = fc.oneof(
  { weight: 20, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ 'if-match': '*' }, { 'if-match': '"x"' }, { 'if-none-match': '*' }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('a', 'b', '', 'k'.repeat(256)).map((key) => ({ 'idempotency-key': key })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('text/plain', 'application/json; charset=utf-8', 'application/xml', 'nonsense', '')
      .map((type) => ({ 'content-type': type })),
  },
)

interface Target {
  method: string
  path: string
  operation: Operation
}

function drafts(document: OpenApi, targets: Target[]): fc.Arbitrary<Draft> {
  const generator = new Generator(document)
  const one = ({ operation }: Target, route: number): fc.Arbitrary<Draft> => {
    const shape = operation.requestBody?.content['application/json']?.schema
    const strangeBody = fc.oneof(
      { weight: 20, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: unicode.map((text) => text || undefined) },
    )
    return fc.record({
      route: fc.constant(route),
      ids: fc.array(fc.nat({ max: 40 }), { minLength: 2, maxLength: 2 }),
      query: generator.query(operation.parameters),
      body: shape ? fc.option(generator.body(shape), { nil: undefined, freq: 15 }) : strangeBody,
      headers: header,
      token: fc.oneof(
        { weight: 20, arbitrary: fc.constant('all' as const) },
        { weight: 1, arbitrary: fc.constantFrom('reader' as const, 'none' as const, 'bad' as const) },
      ),
    })
  }
  return fc.oneof(...targets.map(one))
}

// ---- where it is sent ----

/** The installation of one run: an account with one of everything, and another account with the same. */
interface World {
  t: TestApp
  schema: Schema
  targets: Target[]
  ids: string[]
  words: Record<string, string>
  tokens: Record<Draft['token'], string | null>
}

async function stranger(t: TestApp): Promise<string[]> {
  const call = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() }))
  const project = await call('POST', '/account/projects', { name: 'theirs' })
  const key = await call('POST', '/account/ssh_keys', { name: 'theirs', public_key: ed25519() })
  const server = await call('POST', '/servers', await order(call))
  return [project.body.project_id, key.body.ssh_key_id, server.body.server_id]
}

async function world(): Promise<World> {
  const t = await testApp()
  const schema = new Schema((await t.callAs(null)('GET', '/openapi.json')).body)
  // A stream has no end.
  const paths = Object.entries(schema.document.paths).filter(([path]) => path !== '/events/stream')
  const targets = paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const public_key = ed25519()
  const project = (await t.call('POST', '/account/projects', { name: 'mine' })).body.project_id
  const key = (await t.call('POST', '/account/ssh_keys', { name: 'mine', public_key })).body.ssh_key_id
  const spare = (await t.call('POST', '/account/tokens', { name: 'spare', scopes: ['read'] })).body.token_id
  const hook = { name: 'mine', url: 'https://example.com/', event_types: ['*'] }
  const webhook = (await t.call('POST', '/webhooks', hook)).body.webhook_id
  const stopped = await make(t, { start_on_create: false })
  const gone = await make(t)
  await t.call('DELETE', `/servers/${gone}`)
  const theirs = await stranger(t)
  await t.finish()
  const running = await make(t, { ssh_key_ids: [key] })
  const operation = (await t.call('GET', `/servers/${running}/operations`)).body.items[0].operation_id
  const { template_id, preset_id = '' } = await order(t.call)
  const tokens = { all: await t.makeToken(['read', 'write']), reader: await t.makeToken(['read']) }
  return {
    t,
    schema,
    targets,
    ids: [
      running,
      stopped,
      operation,
      project,
      key,
      spare,
      running,
      stopped,
      gone,
      NOBODY,
      ...theirs,
      webhook,
      webhook,
    ],
    words: { template: template_id, preset: String(preset_id), key: public_key },
    tokens: { ...tokens, none: null, bad: 'berth_nonsense' },
  }
}

/** Puts what the run has in the place of what was drawn. */
function filled({ ids, words }: World, text: string): string {
  return text
    .replace(/\{\{id (\d+)\}\}/g, (_, at) => ids[Number(at) % ids.length] ?? NOBODY)
    .replaceAll('{{long}}', 'x'.repeat(70_000))
    .replace(/\{\{(template|preset|key)\}\}/g, (_, word) => words[word] ?? '')
}

/** Segments that are no ids at all, between the ids. */
const SEGMENTS = [
  'me',
  '%00',
  '%zz',
  '..%2f',
  '%F0%9F%98%80',
  'x'.repeat(400),
  '%7B%7D',
  NOBODY.toUpperCase(),
]

async function send(w: World, draft: Draft): Promise<{ method: string; path: string; reply: Reply }> {
  const { method, path: template } = w.targets[draft.route] ?? { method: 'GET', path: '/zones' }
  const ids = [...draft.ids]
  const path = template.replace(/\{(\w+)\}/g, (_, name) => {
    const at = ids.pop() ?? 0
    if (at % 10 === 9) return SEGMENTS[at % SEGMENTS.length] ?? ''
    // Most drafts name what the route is about, so that they get that far.
    const fitting = {
      server_id: at % 4 === 1 ? 1 : 0,
      operation_id: 2,
      project_id: 3,
      ssh_key_id: 4,
      token_id: 5,
    }
    return (
      w.ids[at % 4 && name in fitting ? fitting[name as keyof typeof fitting] : at % w.ids.length] ?? NOBODY
    )
  })
  // A wait would need the clock that only this test turns.
  if (draft.query.includes('wait=')) await w.t.finish()
  const url = draft.query ? `${path}?${filled(w, draft.query)}` : path
  const body = draft.body === undefined ? undefined : filled(w, draft.body)
  const call = w.t.callAs(w.tokens[draft.token])
  return { method, path, reply: await call(method as 'GET', url, body, draft.headers) } // a method of the document
}

/** All rows, but for kept replies and the time at which a token was last used. */
async function snapshot({ db }: TestApp): Promise<string> {
  const tables = [
    'accounts',
    'projects',
    'ssh_keys',
    'transactions',
    'servers',
    'operations',
    'pool_usage',
    'audit',
  ] as const
  const tokens = db.selectFrom('tokens').select(['token_id', 'scopes', 'expires_at', 'revoked_at']).execute()
  // Reading events gives them their positions, and webhooks their turn.
  const events = db.selectFrom('events').select(['event_id', 'data']).execute()
  const webhooks = db
    .selectFrom('webhooks')
    .select(['webhook_id', 'name', 'url', 'event_types', 'is_enabled'])
  const rows = await Promise.all([
    tokens,
    webhooks.execute(),
    events,
    ...tables.map((table) => db.selectFrom(table).selectAll().execute()),
  ])
  // PostgreSQL gives rows in any order.
  return rows.map((table) => table.map((row) => JSON.stringify(row)).sort()).join('\n')
}

async function play(w: World, all: Draft[], seen: number[]): Promise<void> {
  let before = await snapshot(w.t)
  for (const [at, draft] of all.entries()) {
    if (draft.query.includes('wait=')) {
      await w.t.finish()
      before = await snapshot(w.t)
    }
    const { method, path, reply } = await send(w, draft)
    const said = `${method} ${path}?${draft.query} ${draft.body?.slice(0, 2_000)} → ${JSON.stringify(reply.body)}`
    expect(reply.status, said).toBeLessThan(500)
    const faults = w.schema.faultsOf({ method, path, ...reply })
    expect([...faults, ...unconventional(reply.body)], said).toEqual([])
    const after = await snapshot(w.t)
    if (reply.status >= 400 || method === 'GET')
      expect(after === before, `${said} changed something`).toBe(true)
    before = after
    seen.push(reply.status)
    if (at % 8 === 7) {
      await w.t.work()
      before = await snapshot(w.t)
    }
  }
}

test('random requests, valid and not: never a 5xx or an undocumented reply, and what is refused changes nothing', async () => {
  const first = await world()
  const seen: number[] = []
  const draft = drafts(first.schema.document, first.targets)
  await fc.assert(
    fc.asyncProperty(fc.array(draft, { minLength: 30, maxLength: 50 }), async (all) =>
      play(await world(), all, seen),
    ),
    {
      numRuns: process.env.BERTH_TEST_DATABASE === 'postgres' ? 4 : 12,
      interruptAfterTimeLimit: 250_000,
    },
  )
  // Else this would be a test of refusals only.
  expect(seen.filter((status) => status < 400).length).toBeGreaterThan(seen.length / 20)
})
