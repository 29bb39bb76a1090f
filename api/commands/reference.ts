import { globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { eventScopes, quotas } from '../features.ts'
import { acceptedFor, roleScopes } from '../http/contract/auth.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../http/contract/paging.ts'
import { httpProblems, issueCodes, type ProblemType } from '../http/contract/problem.ts'
import { seriesTable } from '../monitoring/series.ts'
import { tiers } from '../monitoring/tiers.ts'
import { type Action, checkAction, statuses } from '../servers/states.ts'
import { settings } from '../settings.ts'

const api = path.resolve(import.meta.dirname, '..')
const root = path.resolve(api, '..')

/** Pages with blocks between `<!-- generated: name -->` and `<!-- end -->`, which `npm run generate` fills. */
export const pages = ['docs/reference.md', 'README.md'].map((page) => path.join(root, page))

/** Returns every problem type of the service, including those in the schemas of features. */
export async function allProblems(): Promise<ProblemType[]> {
  const found: ProblemType[] = Object.values(httpProblems)
  for (const file of globSync('**/*schema.ts', { cwd: api })) {
    const module: Record<string, Record<string, ProblemType>> = await import(path.join(api, file))
    for (const [name, table] of Object.entries(module))
      if (name.endsWith('Problems')) found.push(...Object.values(table))
  }
  return found
}

/** A Markdown table with columns of equal width, as the formatter leaves it. */
function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((row) => row[at]?.length ?? 0)))
  const line = (cells: string[], fill = ' ') =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width, fill)).join(' | ')} |`
  return [line(head), line([], '-'), ...rows.map((row) => line(row))].join('\n')
}

const code = (text: string) => `\`${text}\``
const codes = (texts: readonly string[]) => texts.map(code).join(', ')

function errors(problems: readonly ProblemType[]): string {
  const sorted = problems.toSorted((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
  const rows = sorted.map(({ status, code: name, title, members = {}, isRetried }) => [
    String(status),
    code(name),
    title,
    [...Object.keys(members).map(code), ...(isRetried ? ['`Retry-After`'] : [])].join(', '),
  ])
  return table(['Status', '`code`', 'Meaning', 'Further members and headers'], rows)
}

/** The requests in the table of states, each with the reply if it is accepted. */
const requests: [title: string, action: Action, accepted: string, force?: boolean][] = [
  ['start', 'start', '202'],
  ['stop', 'stop', '202'],
  ['stop with force', 'stop', '202', true],
  ['reboot', 'reboot', '202'],
  ['console', 'console', '201'],
  ['PATCH, metadata', 'update', '200'],
  ['PATCH, plan', 'resize', '202'],
  ['PATCH, only `disk_gb`', 'grow_disk', '202'],
  ['rebuild', 'rebuild', '202'],
  ['reset password', 'reset_password', '202'],
  ['restore', 'restore', '202'],
  ['rescue', 'rescue', '202'],
  ['unrescue (in rescue)', 'unrescue', '202'],
  ['snapshot', 'snapshot', '202'],
  ['DELETE', 'delete', '202'],
]
const refused = {
  operation_in_progress: 'wait',
  server_state_conflict: 'no',
  held: 'no',
  rescue_conflict: 'no',
  insufficient_balance: '402',
} as const

function states(): string {
  const rows = statuses.map((status) => [
    code(status),
    ...requests.map(([, action, accepted, force = false]) => {
      const rescue_id = action === 'unrescue' ? '' : null
      const verdict = checkAction(
        action,
        { status, copying: null, rescue_id, suspension_reason: null },
        { force },
      )
      return verdict === 'allowed' ? accepted : refused[verdict]
    }),
  ])
  return table(['Status', ...requests.map(([title]) => title)], rows)
}

function limits(): string {
  const [reads = '', writes = '', anonymous = ''] = settings.rateLimits.fallback.split(',')
  return table(
    ['Limit', 'Default'],
    [
      ['reads a minute, by person, or by account for its tokens', reads],
      ['writes a minute, by person, or by account for its tokens', writes],
      ['requests a minute without a valid token, by address', anonymous],
      ['items of a page (`limit`)', `1 to ${MAX_LIMIT}; ${DEFAULT_LIMIT} if not given`],
      ...tiers.map(({ resolution, keptFor }) => [
        `samples of every ${resolution} seconds are kept`,
        `${keptFor / 86_400} days`,
      ]),
    ],
  )
}

async function blocks(): Promise<Record<string, string>> {
  return {
    errors: errors(await allProblems()),
    issues: codes(issueCodes),
    scopes: table(
      ['Scope', 'Alternative'],
      Object.values(acceptedFor).map((accepted) => accepted.map(code)),
    ),
    roles: table(
      ['Role', 'Scopes'],
      Object.entries(roleScopes).map(([role, scopes]) => [code(role), codes(scopes)]),
    ),
    quotas: table(
      ['Quota', 'Limit', 'Before the first payment', 'Counts'],
      quotas.map(({ name, limit, unpaid = limit, description }) => [
        code(name),
        String(limit),
        String(unpaid),
        description,
      ]),
    ),
    limits: limits(),
    states: states(),
    events: table(
      ['Type', 'Scope'],
      Object.entries(eventScopes).map(([type, scope]) => [code(type), code(scope)]),
    ),
    series: table(
      ['Series', '`type`', '`unit`'],
      seriesTable.map(({ name, type, unit }) => [code(name), code(type), code(unit)]),
    ),
    settings: table(
      ['Variable', 'Flag', 'Default', 'Description'],
      Object.values(settings).map(({ env, flag, fallback, help }) => [
        code(env),
        code(flag),
        code(fallback),
        help,
      ]),
    ),
  }
}

/**
 * Fills the generated blocks of a page.
 * @throws Error if a block has a name that nothing generates
 */
export async function filled(page: string): Promise<string> {
  const texts = await blocks()
  return page.replace(
    /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start: string, name: string, end: string) => {
      const text = texts[name]
      if (text === undefined) throw new Error(`Nothing generates a block called "${name}"`)
      return `${start}\n${text}\n\n${end}`
    },
  )
}

if (import.meta.main) for (const page of pages) writeFileSync(page, await filled(readFileSync(page, 'utf8')))
