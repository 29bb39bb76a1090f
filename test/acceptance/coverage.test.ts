import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Schema, unconventional } from './harness/schema.ts'

const here = import.meta.dirname
const sources = readdirSync(here)
  .filter((name) => name.endsWith('.test.ts') && name !== 'coverage.test.ts')
  .map((name) => ({ name, text: readFileSync(path.join(here, name), 'utf8') }))
const page = readFileSync(path.join(here, 'COVERAGE.md'), 'utf8')
/** The names of tests that a row's last column has in quotes; its other words say what is not covered here. */
const named = page
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .flatMap((line) => [...(line.split('|').at(-2) ?? '').matchAll(/“([^”]+)”/g)].map(([, name]) => name ?? ''))
const tests = sources.flatMap(({ text }) =>
  [...text.matchAll(/^\s*test(?:\.for\(\w+\))?\(\s*'([^']+)'/gm)].map(([, name]) => name ?? ''),
)

test('every test that the page of coverage names is there, and every test is named', () => {
  expect(tests.length).toBeGreaterThan(40)
  expect(named.filter((name) => !tests.includes(name))).toEqual([])
  expect(tests.filter((name) => !named.includes(name))).toEqual([])
  expect(tests.filter((name, at) => tests.indexOf(name) !== at)).toEqual([])
})

test('every row of the page says which test shows it, or what is not shown', () => {
  const rows = page.split('\n').filter((line) => /^\| (?!Statement|-)/.test(line))
  expect(rows.filter((row) => !/“[^”]+”|not yet|not here: /.test(row.split('|').at(-2) ?? ''))).toEqual([])
})

test('the suite knows a service by its address and a token only', () => {
  for (const { name, text } of sources) expect([name, /from '\.\.\/\.\.\//.test(text)]).toEqual([name, false])
})

test('a reply that the document does not describe is noticed', () => {
  const schema = new Schema(JSON.parse(readFileSync(path.join(here, '../../openapi.json'), 'utf8')))
  const headers = Object.fromEntries(
    ['x-request-id', 'ratelimit-policy', 'ratelimit', 'cache-control', 'etag'].map((name) => [name, 'x']),
  )
  const zone = {
    zone_slug: 'a',
    title: 'A',
    city: 'A',
    country_code: 'ZZ',
    cpu_types: [],
    server_type: 'virtual_machine',
    features: [],
    is_available: true,
  }
  const good = {
    method: 'GET',
    path: '/zones',
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: [zone] as unknown,
  }
  expect(schema.faultsOf(good)).toEqual([])
  for (const wrong of [
    { status: 202 },
    { path: '/zones/a' },
    { method: 'PUT' },
    { headers },
    { headers: { ...good.headers, etag: undefined } },
    { headers: { ...good.headers, location: '/v1/zones' } },
    { headers: { ...good.headers, 'content-type': 'text/html' } },
    { body: [{ ...zone, colour: 'blue' }] },
    { body: [{ ...zone, title: undefined }] },
    { body: [{ ...zone, title: null }] },
    { body: { items: [zone], total: 1 } },
  ])
    expect([wrong, schema.faultsOf({ ...good, ...wrong })]).not.toEqual([wrong, []])
  for (const body of [
    { zoneSlug: 'a' },
    { server_id: 'A' },
    { created_at: '2026-01-01T00:00:00+03:00' },
    { price_month_rub: 5 },
    { price_hour_rub: '1.50' },
    { items: [{ price_month_rub: '1.5' }] },
  ])
    expect(unconventional(body)).toHaveLength(1)
})
