// Reads every file of the repository for the rules: its text, its lines, its syntax tree.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { parseAst } from 'vitest/node'

export const root = path.resolve(import.meta.dirname, '../..')
export const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
export const exists = (file: string) => existsSync(path.join(root, file))

/** Lists all files of the repository, committed or not, without generated ones. */
export const files = listFiles('')
export function listFiles(folder: string): string[] {
  const isOurs = (name: string) =>
    !['.git', 'node_modules', 'dist', 'data'].includes(name) && !name.endsWith('.log')
  return readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter((entry) => isOurs(entry.name) && !entry.isSymbolicLink())
    .flatMap((entry) => {
      const file = path.posix.join(folder, entry.name)
      if (entry.isDirectory()) return listFiles(file)
      return entry.isFile() ? [file] : []
    })
}

export const isTest = (file: string) => /^(test|bench)\/|(\.test|-suite|\/test-[\w-]+)\.ts$/.test(file)
export const sources = files.filter((file) => /\.(ts|tsx|mjs)$/.test(file)).map(readSource)
export const product = sources.filter(({ file }) => !isTest(file))

export interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

export interface Import {
  from: string
  isType: boolean
  /** True if it is loaded when that line runs. */
  isLazy: boolean
}

export interface Source {
  file: string
  text: string
  lines: string[]
  lineStarts: number[]
  nodes: { node: Node; parent: Node | null }[]
  imports: Import[]
}

export function readSource(file: string): Source {
  const text = read(file)
  const lang = file.endsWith('.tsx') ? 'tsx' : 'ts'
  const nodes: Source['nodes'] = []
  collect(parseAst(text, { lang }), null, nodes)
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  return {
    file,
    text,
    lines: text.split('\n'),
    lineStarts,
    nodes,
    imports: nodes.flatMap(({ node }) => importOf(node)),
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

export function collect(value: unknown, parent: Node | null, into: Source['nodes']): void {
  if (Array.isArray(value)) for (const item of value) collect(item, parent, into)
  if (!isNode(value)) return
  into.push({ node: value, parent })
  for (const field of Object.values(value)) if (typeof field === 'object') collect(field, value, into)
}

export function importOf(node: Node): Import[] {
  const kinds = [
    'ImportDeclaration',
    'ExportNamedDeclaration',
    'ExportAllDeclaration',
    'ImportExpression',
    'TSImportType',
  ]
  if (!kinds.includes(node.type) || !isNode(node.source) || typeof node.source.value !== 'string') return []
  const isType = node.importKind === 'type' || node.exportKind === 'type' || node.type === 'TSImportType'
  return [{ from: node.source.value, isType, isLazy: node.type === 'ImportExpression' }]
}

export const lineOf = (source: Source, offset: number) =>
  source.lineStarts.findLastIndex((start) => start <= offset) + 1
export const place = (source: Source, node: Node) => `${source.file}:${lineOf(source, node.start)}`

/** Imports of our own files, as paths from the root. */
export function ownImports({ file, imports }: Source): (Import & { file: string })[] {
  return imports
    .filter(({ from }) => from.startsWith('.'))
    .map((entry) => ({ ...entry, file: path.posix.join(path.posix.dirname(file), entry.from) }))
}

/** Finds the first cycle in a graph of names; null if there is none. */
export function findCycle(arrows: Map<string, Set<string>>): string[] | null {
  const done = new Set<string>()
  const visit = (name: string, trail: string[]): string[] | null => {
    if (trail.includes(name)) return [...trail.slice(trail.indexOf(name)), name]
    if (done.has(name)) return null
    for (const next of arrows.get(name) ?? []) {
      const cycle = visit(next, [...trail, name])
      if (cycle) return cycle
    }
    done.add(name)
    return null
  }
  for (const name of arrows.keys()) {
    const cycle = visit(name, [])
    if (cycle) return cycle
  }
  return null
}

/** `api/servers/off.ts` is in `servers`, `api/money.ts` is `money`. */
export const partOf = (file: string) =>
  file
    .replace(/^api\//, '')
    .split('/')[0]
    ?.replace(/\.ts$/, '') ?? file

/** Fails the test with all places, the reason for the rule, and the fix. */
export function refuse(places: string[], why: string, fix: string): void {
  if (places.length === 0) return
  expect.fail(`\n${places.map((place) => `  ${place}`).join('\n')}\nWhy: ${why}\nFix: ${fix}\n`)
}
