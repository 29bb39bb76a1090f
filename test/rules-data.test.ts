// Checks the repository's rules on money, the database and time, as rules.test.ts checks the others.
import path from 'node:path'
import { test } from 'vitest'
import { migrations } from '../api/database/database.ts'
import { eventScopes } from '../api/features.ts'
import {
  files,
  isNode,
  isTest,
  lineOf,
  type Node,
  ownImports,
  partOf,
  place,
  product,
  read,
  refuse,
  type Source,
} from './harness/sources.ts'

test('money is never a float', () => {
  const isMoney = (file: string) =>
    /^api\/(billing\/|payments\/|money\.ts|catalog\/(plans|prices)\.ts)/.test(file)
  const names = ['parseFloat', 'parseInt', 'toFixed', 'toPrecision', 'round', 'floor', 'ceil', 'trunc']
  const wrong = product
    .filter(({ file }) => isMoney(file))
    .flatMap((source) =>
      source.nodes
        .filter(({ node }) => {
          if (node.type === 'BinaryExpression') return node.operator === '/' || node.operator === '**'
          if (node.type === 'AssignmentExpression') return node.operator === '/='
          if (node.type === 'Literal')
            return typeof node.value === 'number' && !Number.isSafeInteger(node.value)
          return node.type === 'Identifier' && names.includes(String(node.name))
        })
        .map(({ node }) => ({ line: lineOf(source, node.start), where: place(source, node) }))
        // A comment on the line shows that the division is exact, or is not about money.
        .filter(({ line }) => !/\/\/ (exact|not money)/.test(source.lines[line - 1] ?? ''))
        .map(({ where }) => where),
    )
  refuse(
    wrong,
    'a float loses kopecks, and a division that rounds in two places does not add up.',
    'compute in whole units with divideHalfUp and wholeTimes of api/money.ts; write "// not money: …" beside a number that is not money.',
  )
})

test('migrations are numbered without a gap, and each is registered', () => {
  const found = files
    .filter((file) => /^api\/database\/migrations\/[^/]+\.ts$/.test(file) && !isTest(file))
    .map((file) => path.posix.basename(file, '.ts'))
    .sort()
  const gaps = found.filter((name, at) => !name.startsWith(`${String(at + 1).padStart(4, '0')}-`))
  const forgotten = found.filter((name) => !(name in migrations))
  refuse(
    [
      ...gaps.map((name) => `${name} does not have the next number`),
      ...forgotten.map((name) => `${name} is not in the list`),
    ],
    'databases at customers run them in this order, once each.',
    'number the file next after the last, and add it to the list in api/database/database.ts.',
  )
})

/** Kysely's methods whose first argument names tables. */
const namesTables =
  /^(selectFrom|insertInto|updateTable|deleteFrom|mergeInto|using|from|(inner|left|right|full|cross)Join)$/

/**
 * The tables that a file names in SQL: as an argument of such a method, alone or in a list, or anywhere in a sql`…`.
 */
function namedInSql({ text, nodes }: Source): string[] {
  const textOf = ({ start, end }: Node) => text.slice(start, end)
  return nodes.flatMap(({ node }) => {
    const { callee, tag, quasi } = node
    if (isNode(tag) && isNode(quasi) && /^sql\b/.test(textOf(tag)))
      return [...textOf(quasi).matchAll(/\w+/g)].map(([word]) => word)
    if (!isNode(callee) || !isNode(callee.property) || !namesTables.test(textOf(callee.property))) return []
    const [first] = Array.isArray(node.arguments) ? node.arguments : []
    if (!isNode(first) || !['Literal', 'ArrayExpression'].includes(first.type)) return []
    // Each perhaps with its alias: 'servers as other'.
    return [...textOf(first).matchAll(/'(\w+)/g)].map(([, name = '']) => name)
  })
}

/** The tables of each folder, as its tables.ts adds them to the schema. */
const owners = new Map(
  product
    .filter(({ file }) => /^api\/(.+\/tables|database\/schema)\.ts$/.test(file))
    .flatMap(({ file, text }) => {
      const declared = /interface Schema \{([^}]*)\}/.exec(text)?.[1] ?? ''
      return [...declared.matchAll(/^ *(\w+):/gm)].map(([, table = '']) => [table, partOf(file)] as const)
    }),
)

test('a table belongs to one feature: no other names it in SQL', () => {
  const wrong = product
    .filter(({ file }) => file.startsWith('api/') && partOf(file) !== 'database')
    .flatMap((source) =>
      namedInSql(source)
        .filter((table) => owners.has(table) && owners.get(table) !== partOf(source.file))
        .map((table) => `${source.file} names ${table}, which belongs to ${owners.get(table)}`),
    )
  refuse(
    wrong,
    'no feature can change a table that several features read.',
    'lend a query of it (Lent of api/database/database.ts, as api/servers/queries.ts does), or call a function of the feature.',
  )
})

/** The object that events of a table's rows name, as in "server.created". */
const objectOf = (table: string) => (table === 'ledgers' ? 'balance' : table.replace(/s$/, ''))
const objects = new Set(Object.keys(eventScopes).map((type) => type.split('.')[0] ?? ''))

/** True if a file records events of this object, by itself or through the events.ts beside it. */
function recordsEventsOf(source: Source, object: string): boolean {
  const beside = ownImports(source).filter(({ from }) => from === './events.ts')
  const text = [source.text, ...beside.map(({ file }) => read(file))].join('\n')
  return /\/events\/outbox\.ts'/.test(text) && new RegExp(`['\`]${object}\\.`).test(text)
}

test('rows that events are about are written where the events are recorded', () => {
  const wrong = product
    // Events of operations are recorded by the code that begins them, and by the procedures that the engine runs at
    // their end.
    .filter(({ file }) => file.startsWith('api/') && !['database', 'operations'].includes(partOf(file)))
    .flatMap((source) =>
      [...source.text.matchAll(/\.(?:insertInto|updateTable|deleteFrom)\('(\w+)'/g)]
        .map(([, table = '']) => table)
        .filter((table) => objects.has(objectOf(table)) && !recordsEventsOf(source, objectOf(table)))
        .map((table) => `${source.file} writes to ${table}`),
    )
  refuse(
    wrong,
    'a change that is written elsewhere reaches no webhook or stream, and is missing from the audit.',
    'call the function that writes it, such as updateServer of api/servers/store.ts, or record an event beside it.',
  )
})

test('no verdict of a test is how long something took', () => {
  const wrong = files
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, at) =>
          /expect\([^)]*\b(performance|Date)\.now\(\)/.test(line) ? [`${file}:${at + 1}`] : [],
        ),
    )
  refuse(
    wrong,
    'a busy machine makes everything slow, and nobody trusts a test that fails by chance.',
    'ask for rules, counts and bytes, or turn the clock of the test by hand.',
  )
})
