import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { documentation, page } from '../../cli/docs.ts'

test('docs/cli.md tells of every command what its --help says', () => {
  const written = readFileSync(page, 'utf8')
  expect(documentation(written), 'Run npm run generate.').toBe(written)
})
