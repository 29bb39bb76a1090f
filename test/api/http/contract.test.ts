// The pages of docs/contract/ are written for people who rely on them: their figures are compared with the code's. The
// tables of docs/reference.md are printed from it.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { filled, pages } from '../../../api/commands/reference.ts'
import { MAX_POINTS } from '../../../api/monitoring/metrics.ts'
import { tiers } from '../../../api/monitoring/tiers.ts'
import { OperationStatus } from '../../../api/operations/schema.ts'
import { operationTypes } from '../../../api/servers/operations.ts'

const read = (page: string) =>
  readFileSync(new URL(`../../../docs/contract/${page}.md`, import.meta.url), 'utf8')
const section = (page: string, title: string) =>
  read(page)
    .split(/^## /m)
    .find((part) => part.startsWith(title)) ?? ''

test.each(pages)('the generated tables of %s are current', async (page) => {
  const text = readFileSync(page, 'utf8')
  expect(await filled(text), 'Run npm run generate.').toBe(text)
})

test('the page of servers names every type and status of an operation', () => {
  for (const word of [...operationTypes, ...OperationStatus.enum])
    expect(section('servers', 'Operations')).toContain(`\`${word}\``)
})

test('the page of servers says how long samples are kept, and how many points a reply has', () => {
  const text = section('servers', 'Statistics and metrics')
  expect(text).toContain('every 10 seconds for a day, every minute for 7 days, every 5 minutes for 30 days')
  expect(tiers.map(({ resolution, keptFor }) => [resolution, keptFor / 86_400])).toEqual([
    [10, 1],
    [60, 7],
    [300, 30],
  ])
  expect(text).toContain(`more than ${MAX_POINTS.toLocaleString('en')} points`)
})
