import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type OpenApi, places, typesOf } from '../../sdk/generate.ts'
import { problems } from '../harness/problems.ts'

const document: OpenApi = JSON.parse(readFileSync(places.document, 'utf8'))
const types = readFileSync(places.types, 'utf8')

test('the types are those of openapi.json', () => {
  expect(types, 'run npm run generate and commit sdk/openapi.ts').toBe(typesOf(document))
})

test('every route of the API has a method, and every method a route', () => {
  const folder = new URL('../../sdk/', import.meta.url)
  const written = readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && name !== 'openapi.ts')
    .flatMap(
      (name) => readFileSync(new URL(name, folder), 'utf8').match(/(?<=call\(\s*')[A-Z]+ [^']+/g) ?? [],
    )
  const offered = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  // A stream is no call: events() reads it.
  const called = offered.filter((route) => route !== 'GET /events/stream')
  expect(
    written.sort(),
    'each route is one line of sdk/account.ts, catalogue.ts, servers.ts or the like',
  ).toEqual(called.sort())
})

test('the codes of errors are those of the API, but for those that no route has', () => {
  const [, codes = ''] = types.split('export type ErrorCode =')
  const routeless = ['route_not_found', 'method_not_allowed']
  expect(codes.match(/\w+/g)?.sort()).toEqual(
    problems
      .map(({ code }) => code)
      .filter((code) => !routeless.includes(code))
      .sort(),
  )
})

test('a kind of schema that the printer does not know is refused, not guessed', () => {
  const odd = {
    components: {
      schemas: { Odd: { type: 'object', properties: { x: { type: 'tuple' } } } },
      parameters: {},
      responses: {},
      examples: {},
    },
  }
  expect(() => typesOf({ paths: {}, ...odd })).toThrow('does not support this schema: {"type":"tuple"}')
})
