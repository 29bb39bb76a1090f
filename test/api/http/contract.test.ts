// docs/contract.md is written for people who rely on it: what it says in tables is compared with what the code does.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { eventTypes } from '../../../api/events/types.ts'
import { quotas } from '../../../api/features.ts'
import { acceptedFor } from '../../../api/http/contract/auth.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../../api/http/contract/paging.ts'
import { issueCodes } from '../../../api/http/contract/problem.ts'
import { MAX_POINTS } from '../../../api/monitoring/metrics.ts'
import { seriesTable } from '../../../api/monitoring/series.ts'
import { tiers } from '../../../api/monitoring/tiers.ts'
import { OperationStatus } from '../../../api/operations/schema.ts'
import { operationTypes } from '../../../api/servers/lifecycle/operations.ts'
import { Server } from '../../../api/servers/schema.ts'
import { type Action, checkAction, statuses } from '../../../api/servers/states.ts'
import { settings } from '../../../api/settings.ts'
import { problems } from '../../harness/problems.ts'

const page = readFileSync(new URL('../../../docs/contract.md', import.meta.url), 'utf8')
const section = (title: string) => page.split(/^## /m).find((part) => part.startsWith(title)) ?? ''

/** The rows of the section's table, without its head; cells without their backquotes. */
function rows(title: string): string[][] {
  const lines = section(title)
    .split('\n')
    .filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
  )
}

const said = {
  operation_in_progress: 'wait',
  server_state_conflict: 'no',
  insufficient_balance: '402',
} as const

/** Status codes of replies to actions that are not operations. */
const accepted: Partial<Record<Action, string>> = { update: '200', console: '201' }

test('the table of states says of every status what the service does', () => {
  const columns: [action: Action, force: boolean][] = [
    ['start', false],
    ['stop', false],
    ['stop', true],
    ['reboot', false],
    ['console', false],
    ['update', false],
    ['resize', false],
    ['delete', false],
  ]
  const expected = statuses.map((status) => [
    status,
    ...columns.map(([action, force]) => {
      const verdict = checkAction(action, status, { force })
      return verdict === 'allowed' ? (accepted[action] ?? '202') : said[verdict]
    }),
  ])
  expect(rows('States').sort()).toEqual(expected.sort())
})

test('the table of errors has every code of the service with its status, and no other', () => {
  const listed = rows('Errors').map(([status, code]) => [code, Number(status)])
  expect(listed.sort()).toEqual(problems.map(({ code, status }) => [code, status]).sort())
  const codes = /Codes in `errors`: (.*)\./.exec(section('Errors'))?.[1]?.match(/[a-z_]+/g)
  expect(codes).toEqual([...issueCodes])
})

test('the tables of scopes and quotas are those of the service', () => {
  expect(Object.fromEntries(rows('Tokens').map(([scope, other]) => [scope, [scope, other]]))).toEqual(
    acceptedFor,
  )
  const expected = quotas.map(({ name, limit, unpaid = limit }) => [name, limit, unpaid])
  const listed = rows('Account').map(([name, limit, unpaid]) => [name, Number(limit), Number(unpaid)])
  expect(listed.sort()).toEqual(expected.sort())
})

test('the table of events has every type with its scope', () => {
  expect(Object.fromEntries(rows('Events').map(([type, scope]) => [type, scope]))).toEqual(eventTypes)
})

test('the page names every field of a server, and every type and status of an operation', () => {
  expect(rows('Servers').map(([field]) => field)).toEqual(Object.keys(Server.properties))
  for (const word of [...operationTypes, ...OperationStatus.enum])
    expect(section('Operations')).toContain(`\`${word}\``)
})

test('the table of series is that of the service, and so are the ages of samples', () => {
  expect(rows('Stats and metrics').map(([name, type, unit]) => [name, type, unit])).toEqual(
    seriesTable.map(({ name, type, unit }) => [name, type, unit]),
  )
  const text = section('Stats and metrics')
  expect(text).toContain('every 10 seconds for a day, every minute for 7 days, every 5 minutes for 30 days')
  expect(tiers.map(({ resolution, keptFor }) => [resolution, keptFor / 86_400])).toEqual([
    [10, 1],
    [60, 7],
    [300, 30],
  ])
  expect(text).toContain(`more than ${MAX_POINTS.toLocaleString('en')}`)
})

test('the rate limits and page sizes are the defaults of the service', () => {
  const [reads, writes, anonymous] = settings.rateLimits.fallback.split(',')
  expect(section('Rate limits')).toContain(`${reads} reads`)
  expect(section('Rate limits')).toContain(`${writes} writes a minute`)
  expect(section('Rate limits')).toContain(`${anonymous} requests a minute`)
  expect(section('Paging')).toContain(`1 to ${MAX_LIMIT}; default: ${DEFAULT_LIMIT}`)
})
