import type { Reply } from '../../harness/app.ts'
import { read } from '../../harness/sources.ts'

const programs = ['Terraform', 'CSI driver', 'Cloud controller'] as const
export type Program = (typeof programs)[number]

const verbs: Readonly<Record<string, string>> = {
  ...{ GET: 'list', POST: 'create' },
  ...{ 'GET id': 'read', 'PUT id': 'change', 'DELETE id': 'delete' },
}

/** The requests that the tests have replayed: by path the cells of docs/hcloud.md, one for each program. */
const replayed = new Map<string, Map<Program, Set<string>>>()

/** Notes a request for the page, with the code of the error that answered it. */
export function noteRequest(program: Program, method: string, path: string, reply: Reply): void {
  const [many = '', id, , action] = (path.split('?')[0] ?? '').slice(1).split('/')
  const name = action ?? verbs[id === undefined ? method : `${method} id`] ?? method
  const cells = replayed.get(many) ?? new Map<Program, Set<string>>()
  const cell = cells.get(program) ?? new Set()
  const code = reply.body?.error?.code
  cell.add(code === undefined ? name : `${name} (${code})`)
  replayed.set(many, cells.set(program, cell))
}

/** The rows of the table that the page must have. */
export function replayedRows(): string[] {
  const rows = [...replayed].map(([many, cells]) => {
    const texts = programs.map((program) => [...(cells.get(program) ?? [])].toSorted().join(', '))
    return `| ${[`\`/${many}\``, ...texts].map((text) => text || '-').join(' | ')} |`
  })
  return rows.toSorted()
}

/** The rows of the table that the page has, without the spaces that align it. */
export function writtenRows(): string[] {
  const [, table = ''] = read('docs/hcloud.md').split('\n## The replayed requests\n')
  return [...table.matchAll(/^\| `\/.*$/gm)].map(([row]) => row.replaceAll(/ +/g, ' '))
}
