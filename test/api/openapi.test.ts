import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect, test } from 'vitest'
import { testApp } from '../app.ts'

interface Content {
  schema: object
  example?: unknown
  examples?: Record<string, { $ref: string }>
}

const served = async () => (await (await testApp()).callAs(null)('GET', '/openapi.json')).body

/** Every place of the document where a body is described, with its address. */
function contents(part: unknown, at = ''): [string, Content][] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) => {
    const here = `${at}/${key}`
    if (key.includes('/') && key.endsWith('json')) return [[here, value as Content]]
    return contents(value, here)
  })
}

test('openapi.json is what the service says of itself', async () => {
  const committed = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'))
  expect(committed, 'run npm run generate and commit openapi.json').toEqual(await served())
})

test('the linter of the format finds nothing to say', async () => {
  const config = await createConfig({ extends: ['recommended'] })
  const source = JSON.stringify(await served())
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
})

test('every body has an example, and every example is what its schema says', async () => {
  const document = await served()
  const ajv = formats.default(new Ajv2020({ strict: false }))
  ajv.addSchema(document, 'openapi')
  const wrong: unknown[] = []
  for (const [at, { schema, example, examples }] of contents(document.paths)) {
    const named = (ref: string) => document.components.examples[ref.split('/').at(-1) ?? ''].value
    const samples = examples ? Object.values(examples).map(({ $ref }) => named($ref)) : [example]
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/'))
    const isValid = ajv.compile(absolute)
    for (const sample of samples) if (!isValid(sample)) wrong.push([at, sample, isValid.errors])
  }
  expect(wrong).toEqual([])
})

test('every route says what it takes, what it replies, and how it fails', async () => {
  const document = await served()
  for (const [path, methods] of Object.entries<Record<string, { security: unknown[]; responses: object }>>(
    document.paths,
  ))
    for (const [method, { security, responses }] of Object.entries(methods)) {
      expect(security.length, `${method} ${path}`).toBeGreaterThanOrEqual(2)
      for (const status of ['400', '401', '403', '429', '500', '503'])
        expect(Object.keys(responses)).toContain(status)
    }
})
