import { expect, test } from 'vitest'
import { ownImports, product, refuse } from './harness/sources.ts'

/** Libraries that few starts use. */
const RARE = ['pg', 'ssh2', 'age-encryption', 'nodemailer', 'openid-client', 'pdfkit']
const sources = new Map(product.map((source) => [source.file, source]))

/** The files and libraries that a file loads as soon as it is loaded itself. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  const source = sources.get(file)
  if (!source || loaded.has(file)) return loaded
  loaded.add(file)
  for (const { from, isType, isLazy } of source.imports)
    if (!isType && !isLazy && !from.startsWith('.')) loaded.add(from)
  for (const { file: next, isType, isLazy } of ownImports(source))
    if (!isType && !isLazy) loadedBy(next, loaded)
  return loaded
}

test.each([
  ['api/commands/serve.ts', RARE],
  ['api/commands/token.ts', [...RARE, 'yaml', 'ajv/dist/2020.js', 'fastify']],
  ['api/commands/person.ts', [...RARE, 'yaml', 'ajv/dist/2020.js', 'fastify']],
])('%s loads no migration, and no library that it rarely needs', (file, libraries) => {
  const loaded = [...loadedBy(file)]
  expect(loaded).toContain('kysely')
  refuse(
    loaded.filter((name) => libraries.includes(name) || name.startsWith('api/database/migrations/')),
    'each start loads it, in every command and every test that starts berthd.',
    'import it where it is used: const { … } = await import(…).',
  )
})
