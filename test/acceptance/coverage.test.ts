import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Schema, unconventional } from './harness/schema.ts'

const here = import.meta.dirname
const sources = readdirSync(here)
  .filter((name) => name.endsWith('.test.ts') && name !== 'coverage.test.ts')
  .map((name) => ({ name, text: readFileSync(path.join(here, name), 'utf8') }))
const page = readFileSync(path.join(here, 'COVERAGE.md'), 'utf8')
/** The statements of the page. */
const lines = page.split('\n').filter((line) => line.startsWith('- '))
/** Parts of tests' names, which the page has in quotes: each belongs to one test. */
const parts = lines.flatMap((line) => [...line.matchAll(/“([^”]+)”/g)].map(([, part = '']) => part))
const tests = sources.flatMap(({ text }) =>
  [...text.matchAll(/^\s*test(?:\.for\(\w+\))?\(\s*'([^']+)'/gm)].map(([, name]) => name ?? ''),
)

test('every part of a name on the page belongs to one test, and every test is named', () => {
  expect(tests.length).toBeGreaterThan(40)
  const found = parts.map((part) => ({ part, of: tests.filter((name) => name.includes(part)) }))
  expect(found.filter(({ of }) => of.length !== 1)).toEqual([])
  expect(tests.filter((name) => !parts.some((part) => name.includes(part)))).toEqual([])
  expect(tests.filter((name, at) => tests.indexOf(name) !== at)).toEqual([])
})

test('every line of the page says which test shows it, or why it is not shown here', () => {
  expect(lines.length).toBeGreaterThan(60)
  const shows = /“[^”]+”|not here: .+`test\/|: section \d/
  expect(lines.filter((line) => !shows.test(line))).toEqual([])
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
    volume_gb_month_rub: '6.00',
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
