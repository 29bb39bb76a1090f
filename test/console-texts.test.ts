import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { OpenApi } from '../sdk/generate.ts'

const root = path.join(import.meta.dirname, '..')
const source = path.join(root, 'console/src')
const openapi: OpenApi = JSON.parse(readFileSync(path.join(root, 'openapi.json'), 'utf8'))

/** A file of the console; not an import that TypeScript follows, since it is compiled for browsers. */
const load = (file: string): Promise<Record<string, unknown>> => import(path.join(source, file))

const isGroup = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Names of the texts that the translation lacks. */
function missingIn(english: object, translated: unknown, at: string): string[] {
  return Object.entries(english).flatMap(([name, text]) => {
    const other = isGroup(translated) ? Reflect.get(translated, name) : undefined
    if (isGroup(text)) return missingIn(text, other, `${at}.${name}`)
    return other === undefined ? [`${at}.${name}`] : []
  })
}

test('every text of the console has a Russian translation', async () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: source }).filter((file) =>
    readFileSync(path.join(source, file), 'utf8').includes('= messages({'),
  )
  const missing = files.map(async (file) => {
    const tables = Object.values(await load(file)).flatMap((one) =>
      typeof one === 'function' && 'table' in one && isGroup(one.table) ? [one.table] : [],
    )
    // A table that is not exported can't be checked.
    if (tables.length === 0) return [`${file} exports no texts`]
    return tables.flatMap((table) => missingIn(Reflect.get(table, 'en'), Reflect.get(table, 'ru'), file))
  })
  expect(files.length).toBeGreaterThan(10)
  expect((await Promise.all(missing)).flat()).toEqual([])
})

interface Titled {
  name?: string
  title: { en: string; ru?: string }
}

/** Contributions of features that have titles. */
async function titled(): Promise<{ places: Titled[]; quotas: Titled[] }> {
  const { features } = await load('app/features.ts')
  // The console's compiler checks it as a list of Feature.
  const list = features as { places?: Titled[]; quotas?: Titled[] }[]
  return {
    places: list.flatMap(({ places = [] }) => places),
    quotas: list.flatMap(({ quotas = [] }) => quotas),
  }
}

test('every page in the menu and every limit of an account has a title in Russian', async () => {
  const { places, quotas } = await titled()
  const all = [...places, ...quotas]
  expect(all.length).toBeGreaterThan(20)
  expect(all.filter(({ title }) => !title.ru).map(({ title }) => title.en)).toEqual([])
})

test('the console shows every limit that an account has', async () => {
  const { quotas } = await titled()
  const { properties = {} } = openapi.components.schemas.Account?.properties?.quotas ?? {}
  expect(quotas.map(({ name }) => name).sort()).toEqual(Object.keys(properties).sort())
})

test('the activity page names only actions of the API', async () => {
  const { useActionText } = await load('account/action-text.ts')
  const { table } = useActionText as { table: { en: object } } // made by messages()
  const known = readFileSync(path.join(root, 'openapi.json'), 'utf8')
  expect(Object.keys(table.en).filter((action) => !known.includes(`"operationId": "${action}"`))).toEqual([])
})

test('every error of the API has a Russian text', async () => {
  const { errors, issues } = await load('ui/russian.ts')
  const codes = Object.values(openapi.components.examples).map(({ value }) => value.code)
  const issue = openapi.components.schemas.Issue
  expect(codes.length).toBeGreaterThan(50)
  expect(codes.filter((code) => !isGroup(errors) || !(code in errors))).toEqual([])
  const known = issue?.properties?.code?.enum ?? []
  expect(known.length).toBeGreaterThan(10)
  expect(known.filter((code) => !isGroup(issues) || !(code in issues))).toEqual([])
})
