import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect, test } from 'vitest'
import { compileCheck } from '../../../api/http/contract/validation.ts'
import { QuoteRequest, ServerCreate, ServerUpdate } from '../../../api/servers/order-schema.ts'
import { Schema } from '../../acceptance/harness/schema.ts'
import { testApp } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'

interface Content {
  schema: object
  example?: unknown
  examples?: Record<string, { $ref: string }>
}

/** The parts of the document that can, and must, have a description. */
interface Described {
  $ref?: string
  name?: string
  description?: string
  properties?: Record<string, Described>
  items?: Described
  anyOf?: Described[]
  oneOf?: Described[]
}

const served = async () => (await (await testApp()).callAs(null)('GET', '/openapi.json')).body

const lastOf = (reference: string) => reference.split('/').at(-1) ?? ''

/** Every place of the document where a body is described, with its address. */
function contents(part: unknown, at = ''): [string, Content][] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) => {
    const here = `${at}/${key}`
    if (key.includes('/') && key.endsWith('json')) return [[here, value as Content]]
    return contents(value, here)
  })
}

test('openapi.json is the description that the service serves', async () => {
  const committed = JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8'))
  expect(committed, 'run npm run generate and commit openapi.json').toEqual(await served())
})

test('the linter finds nothing in openapi.json', async () => {
  const config = await createConfig({ extends: ['recommended'] })
  const source = JSON.stringify(await served())
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
})

test('every body has an example, and every example is what its schema says', async () => {
  const document = await served()
  const ajv = formats.default(new Ajv2020({ strict: false }))
  ajv.addSchema(document, 'openapi')
  const { schemas, examples: named } = document.components
  const checks = new Map<string, ValidateFunction>()
  const faultsOf = (schema: object, sample: unknown) => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"openapi#/')
    const isValid = checks.get(text) ?? ajv.compile(JSON.parse(text))
    checks.set(text, isValid)
    return isValid(sample) ? [] : [[sample, isValid.errors]]
  }
  /** A named schema has its example with it; a list has that of its items. */
  const samplesOf = ({ $ref, items }: { $ref?: string; items?: object }): unknown[] =>
    $ref ? schemas[lastOf($ref)].examples : items ? [samplesOf(items)] : []
  const wrong: unknown[] = []
  const bodies = [...contents(document.paths), ...contents(document.components.responses)]
  for (const [at, { schema, example, examples }] of bodies) {
    const samples = examples
      ? Object.values(examples).map(({ $ref }) => named[lastOf($ref)].value)
      : example === undefined
        ? samplesOf(schema)
        : [example]
    if (samples.length === 0) wrong.push([at, 'has no example'])
    for (const sample of samples) wrong.push(...faultsOf(schema, sample).map((fault) => [at, ...fault]))
  }
  for (const [name, schema] of Object.entries<{ examples: unknown[] }>(schemas))
    for (const sample of schema.examples)
      wrong.push(...faultsOf(schema, sample).map((fault) => [name, ...fault]))
  expect(bodies).not.toEqual([])
  expect(wrong).toEqual([])
})

/** The forms leave open which of id, slug, snapshot and image names an object: the service alone says that it is one of them. */
const CHOICES = [
  'preset_id is required, or preset instead.',
  'preset_id cannot be combined with preset.',
  'template_id is required, or template, snapshot_id or image_id instead.',
  'template_id cannot be combined with template.',
  'template_id cannot be combined with snapshot_id.',
  'template cannot be combined with snapshot_id.',
  'template_id cannot be combined with image_id.',
  'template cannot be combined with image_id.',
  'snapshot_id cannot be combined with image_id.',
]

test('an order or a change is one of the forms that the document has, just where the service takes it', async () => {
  const document = await served()
  const ajv = formats.default(new Ajv2020({ strict: false }))
  ajv.addSchema(document, 'openapi')
  const size = { preset_id: NOBODY, preset: 'nano', cpu: 1, ram_mb: 512, disk_gb: 5 }
  const place = { zone_slug: 'a', cpu_type: 'amd' }
  const image = { template_id: NOBODY, template: 'micro', snapshot_id: NOBODY, image_id: NOBODY }
  const wrong: unknown[] = []
  for (const [name, schema, base, parts, choices] of [
    ['ServerCreate', ServerCreate, place, { ...size, ...image }, CHOICES],
    ['QuoteRequest', QuoteRequest, place, { ...size, ...image }, CHOICES],
    ['ServerUpdate', ServerUpdate, { name: 'x' }, size, [] as string[]],
  ] as const) {
    const isForm = ajv.compile({ $ref: `openapi#/components/schemas/${name}` })
    const check = compileCheck('body', schema)
    for (const plan_type of [undefined, 'preset', 'custom', 'other'])
      for (let some = 0; some < 2 ** Object.keys(parts).length; some++) {
        const chosen = Object.entries(parts).filter((_, at) => some & (1 << at))
        const body = { ...base, ...(plan_type && { plan_type }), ...Object.fromEntries(chosen) }
        const faults = check({ ...body }).filter(({ message }) => !choices.includes(message))
        if (isForm(body) !== (faults.length === 0)) wrong.push([name, body, faults])
      }
  }
  expect(wrong).toEqual([])
})

test('every schema, field and parameter is described', async () => {
  const { paths, components } = await served()
  const schemas: Record<string, Described> = components.schemas
  const silent = (at: string, part: Described): string[] => [
    ...(part.description || schemas[lastOf(part.$ref ?? '')]?.description ? [] : [at]),
    ...silentFields(at, part),
  ]
  const silentFields = (
    at: string,
    { properties = {}, items, anyOf = [], oneOf = [] }: Described,
  ): string[] => [
    ...Object.entries(properties).flatMap(([name, field]) => silent(`${at}.${name}`, field)),
    ...[...(items ? [items] : []), ...anyOf, ...oneOf].flatMap((part) => silentFields(at, part)),
  ]
  const found = [
    ...Object.entries(schemas).flatMap(([name, schema]) => silent(name, schema)),
    ...Object.entries<Described>(components.parameters).flatMap(([name, part]) => silent(name, part)),
    ...Object.entries<Record<string, { parameters: Described[] }>>(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters }]) =>
        parameters
          .filter(({ $ref }) => $ref === undefined)
          .flatMap((part) => silent(`${method} ${path} ${part.name}`, part)),
      ),
    ),
  ]
  expect(
    found,
    'describe it in the schema.ts of its feature: units, default, limits, what null means',
  ).toEqual([])
})

test('every operation describes in sentences what happens and what to watch for, naming only existing things', async () => {
  const { info, paths } = await served()
  const operations = Object.values<
    Record<string, { operationId: string; summary: string; description: string }>
  >(paths).flatMap((methods) => Object.values(methods))
  const short = operations.filter(
    ({ description }) => (description.split('\n\nRequires')[0]?.match(/[.:;]( |$)/g) ?? []).length < 2,
  )
  expect(short.map(({ operationId }) => operationId)).toEqual([])
  const summaries = operations.map(({ summary }) => summary)
  expect(summaries.filter((summary) => summary.length > 70 || /[.;]/.test(summary))).toEqual([])
  expect(new Set(summaries).size).toBe(summaries.length)
  const texts = [info.description, ...operations.map(({ description }) => description)].join('\n')
  const named = [...texts.matchAll(/`(GET|POST|PATCH|DELETE) (\/[^`?\s]*)/g)]
  expect(named.length).toBeGreaterThan(10)
  const strange = named.filter(([, method = '', path = '']) => !paths[path]?.[method.toLowerCase()])
  expect(strange.map(([text]) => text)).toEqual([])
})

test('the first page says where a token comes from, and what all routes have in common', async () => {
  const { info, components } = await served()
  expect([...info.description.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
    ...['A first server', 'Tokens', 'Conventions', 'Waiting for operations', 'Errors'],
    ...['Repeating a request', 'Paging', 'Rate limits'],
  ])
  for (const header of ['Idempotency-Replayed', 'Retry-After', 'Link', 'RateLimit'])
    expect(components.headers[header].description.length, header).toBeGreaterThan(30)
})

test('a key of an operator belongs to the account of what the path names', async () => {
  const paths = Object.entries<{ post?: { parameters?: { $ref?: string }[] } }>((await served()).paths)
  const withKey = paths.flatMap(([path, { post }]) =>
    post?.parameters?.some(({ $ref }) => $ref?.endsWith('Idempotency-Key')) ? [path] : [],
  )
  const operated = withKey.filter((path) => path.startsWith('/operator/'))
  expect(operated.length).toBeGreaterThan(10)
  expect(operated.filter((path) => !path.includes('{'))).toEqual([])
})

test('no field of a request has a default, which generated clients would require', async () => {
  const { components } = await served()
  const bodies = Object.entries(components.schemas).filter(([name]) => /(Create|Request|Update)/.test(name))
  expect(bodies.length).toBeGreaterThan(10)
  expect(bodies.filter(([, schema]) => JSON.stringify(schema).includes('"default":'))).toEqual([])
})

test('every route says what it takes, what it replies, and how it fails', async () => {
  const document = await served()
  for (const [path, methods] of Object.entries<Record<string, { security: object[]; responses: object }>>(
    document.paths,
  ))
    for (const [method, { security, responses }] of Object.entries(methods)) {
      if (!security.some((way) => 'token' in way)) continue
      expect(security.length, `${method} ${path}`).toBeGreaterThanOrEqual(2)
      for (const status of ['400', '401', '403', '429', '500', '503'])
        expect(Object.keys(responses)).toContain(status)
    }
})

test('every header of a reply is described, and every one that is promised is sent', async () => {
  const t = await testApp({ rateLimits: { reads: 1e9, writes: 1e9, anonymous: 5 } })
  const schema = new Schema((await t.call('GET', '/openapi.json')).body)
  const seen = new Set<string>()
  const hold = async (
    ...[method, path, body, headers, call = t.call]: [...Parameters<typeof t.call>, typeof t.call?]
  ) => {
    const reply = await call(method, path, body, headers)
    const faults = schema.faultsOf({ method, path: path.split('?')[0] ?? '', ...reply })
    expect([method, path, reply.status, faults]).toEqual([method, path, reply.status, []])
    seen.add(`${reply.status} ${reply.body.code ?? ''}`.trim())
    return reply
  }
  const id = await make(t)
  const public_key = ed25519()
  const key = { 'idempotency-key': 'k' }
  const { etag = '' } = (await hold('GET', `/servers/${id}`)).headers
  await hold('GET', `/servers/${id}`, undefined, { 'if-none-match': etag })
  await hold('GET', '/zones')
  await hold('PATCH', `/servers/${id}`, { description: 'x' }, { 'if-match': '"other"' })
  await hold('PATCH', `/servers/${id}`, { description: 'x' })
  for (const _ of ['first', 'replayed']) {
    await hold('POST', '/account/ssh_keys', { name: 'a', public_key }, key)
    await hold('POST', '/pricing/quote', await order(t.call), key)
    await hold('POST', `/servers/${id}/stop`, {}, key)
    await hold('POST', `/servers/${id}/start`, { force: 1 }, key)
  }
  await hold('POST', '/account/ssh_keys', { name: 'b', public_key })
  for (const _ of ['first', 'replayed']) await hold('POST', `/servers/${id}/reboot`, {}, key)
  await hold('PATCH', `/servers/${id}`, { cpu: 2 })
  await t.db.updateTable('idempotency_keys').set({ reply: null }).execute()
  await hold('POST', '/pricing/quote', await order(t.call), key)
  await hold('POST', `/servers/${id}/stop`, {}, key)
  await hold('POST', '/account/projects', '{}', { 'content-encoding': 'gzip' })
  await hold('POST', '/account/projects', '{')
  await hold('GET', '/servers?limit=0')
  await hold('DELETE', `/account/projects/${id}`)
  await hold('GET', '/servers', undefined, {}, t.callAs(await t.makeToken(['account:read'])))
  await hold('PUT', '/servers')
  for (let count = 0; count < 6; count++) await hold('GET', '/servers', undefined, {}, t.callAs(null))
  expect([...seen].sort()).toEqual([
    ...['200', '201', '202', '304'],
    '400 invalid_json',
    '401 missing_token',
    '403 insufficient_scope',
    '404 project_not_found',
    '405 method_not_allowed',
    '409 idempotency_key_in_use',
    '409 operation_in_progress',
    '409 ssh_key_exists',
    '412 precondition_failed',
    '415 unsupported_media_type',
    '422 validation_failed',
    '429 rate_limited',
  ])
})

test('the first page names the address of the installation, if it is known', async () => {
  const shown = async (publicUrl?: string) =>
    (await (await testApp({ publicUrl })).call('GET', '/openapi.json')).body
  const named = await shown('https://cloud.example.com/v1')
  expect(named.info.description).toContain('(https://cloud.example.com/account/tokens)')
  expect(named.info.description).toContain('export BERTH_URL=https://cloud.example.com\n')
  expect((await shown()).info.description).toContain('# The address of this page, up to /v1:\n')
})

test('the first page speaks to customers, and the groups of their servers come before those of people', async () => {
  const { info, tags, components } = await served()
  const texts = [info.description, components.securitySchemes.token.description].join()
  expect(texts).not.toMatch(/npm|npx|berthd/)
  const names = tags.map(({ name }: { name: string }) => name)
  expect(names.slice(0, 2)).toEqual(['Servers', 'Catalogue'])
  expect(names.slice(-4)).toEqual(['Sign-in', 'Person', 'Members', 'Operator'])
})

test('the requests of the first page, one after the other, lead to a server', async () => {
  const t = await testApp()
  const { description } = (await t.call('GET', '/openapi.json')).body.info
  const requests = [...description.matchAll(/curl [\s\S]*?(?=\n {3}(?:curl|```))/g)].map(([text]) => text)
  expect(requests).toHaveLength(6)
  let id = ''
  for (const text of requests) {
    const [, path = ''] = /"\$BERTH_URL\/v1(\/[^"]*)"/.exec(text) ?? []
    const [, body] = /-d '([\s\S]*)'/.exec(text) ?? []
    const method = text.includes('-X DELETE') ? 'DELETE' : body ? 'POST' : 'GET'
    const reply = await t.call(method, path.replace('$SERVER', id), body)
    expect([text, reply.status]).toEqual([text, method === 'GET' ? 200 : 202])
    id ||= reply.body.server_id ?? ''
    await t.finish()
  }
})

test('the page of the description asks for no icon that is not there', async () => {
  const { app } = await testApp()
  const page = await app.http.inject({ method: 'GET', url: '/v1/docs/' })
  expect(page.body).toContain('<link rel="icon" href="data:,">')
})

test('no field has a boolean for a schema, which generators of clients take for an object', async () => {
  const booleans: string[] = []
  JSON.stringify(await served(), (name, value) => {
    if (name === 'properties')
      for (const [field, its] of Object.entries(value)) if (its === true) booleans.push(field)
    return value
  })
  expect(booleans).toEqual([])
})
