import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { migrations } from './database.ts'
import { migrate } from './migrate.ts'
import { openSqlite } from './sqlite.ts'

/** From this migration on, processes of the previous version run beside those of the next. */
const TOGETHER_SINCE = '0026-processes'

/**
 * Changes that look like removals but are harmless. Older programs append to the ledger after its last entry, so no
 * two of their entries share a number or a predecessor. No program names these indexes in ON CONFLICT.
 */
const HARMLESS: Record<string, string[]> = {
  '0074-rolled-up-charges': [
    'transactions (account_id,sequence) is no longer unique',
    'transactions (account_id) WHERE previous IS NULL becomes unique, which older programs do not expect',
    'transactions (account_id,previous) becomes unique, which older programs do not expect',
  ],
}

interface Table {
  columns: Map<string, { type: string; isFilled: boolean }>
  /** The columns of unique indexes, with their conditions, which an older program names in ON CONFLICT. */
  uniques: Set<string>
  /** The tables that it refers to, whose rows cannot be deleted while it does. */
  holds: Set<string>
}

function tablesOf(file: string): Map<string, Table> {
  const db = new DatabaseSync(file, { readOnly: true })
  const all = (sql: string) => db.prepare(sql).all()
  const names = all("SELECT name FROM sqlite_schema WHERE type = 'table'").map(({ name }) => String(name))
  const tables = names.map((table) => {
    const columns = all(`PRAGMA table_info("${table}")`).map(({ name, type, notnull, dflt_value, pk }) => {
      const isFilled = notnull === 0 || dflt_value !== null || pk !== 0
      return [String(name), { type: String(type), isFilled }] as const
    })
    const uniques = all(`PRAGMA index_list("${table}")`)
      .filter(({ unique }) => unique === 1)
      .map(({ name }) => {
        const parts = all(`PRAGMA index_info("${name}")`).map((part) => part.name)
        const [{ sql } = { sql: '' }] = all(`SELECT sql FROM sqlite_schema WHERE name = '${name}'`)
        const condition = /\bWHERE\b.*/is.exec(String(sql))?.[0] ?? ''
        return `(${parts}) ${condition}`.trim()
      })
    const references = all(`PRAGMA foreign_key_list("${table}")`)
    const holds = references.filter(({ on_delete }) => !/CASCADE|SET NULL/.test(String(on_delete)))
    const held = new Set(holds.map((reference) => String(reference.table)))
    return [table, { columns: new Map(columns), uniques: new Set(uniques), holds: held }] as const
  })
  db.close()
  return new Map(tables)
}

/** Lists changes with which a program for the earlier tables cannot work. */
function takenAway(before: Map<string, Table>, after: Map<string, Table>): string[] {
  const held = [...after].flatMap(([name, { holds }]) =>
    [...holds]
      .filter((table) => before.has(table) && !before.get(name)?.holds.has(table))
      .map((table) => `${name} keeps older programs from deleting rows of ${table}`),
  )
  const changed = [...before].flatMap(([name, old]) => {
    const table = after.get(name)
    if (!table) return [`the table ${name} is gone`]
    const gone = [...old.columns].filter(([column, { type }]) => table.columns.get(column)?.type !== type)
    const demanded = [...table.columns].filter(
      ([column, { isFilled }]) => !old.columns.has(column) && !isFilled,
    )
    return [
      ...gone.map(([column]) => `${name}.${column} is gone, or has another type`),
      ...demanded.map(([column]) => `${name}.${column} is new, and an INSERT that does not know it fails`),
      ...[...old.uniques]
        .filter((unique) => !table.uniques.has(unique))
        .map((unique) => `${name} ${unique} is no longer unique`),
      ...[...table.uniques]
        .filter(
          (unique) =>
            !old.uniques.has(unique) && [...old.columns.keys()].some((column) => unique.includes(column)),
        )
        .map((unique) => `${name} ${unique} becomes unique, which older programs do not expect`),
    ]
  })
  return [...held, ...changed]
}

test('migrations only add, so that processes of the previous version can keep serving requests', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-adding-'))
  const file = path.join(folder, 'berth.db')
  const db = openSqlite(file)
  const found: Record<string, string[]> = {}
  for (const name of Object.keys(migrations)) {
    const before = tablesOf(file)
    await migrate(db, { upTo: name })
    found[name] = takenAway(before, tablesOf(file))
  }
  await db.destroy()
  rmSync(folder, { recursive: true })
  // An earlier migration, which shows that the check works.
  expect(found['0024-traffic-prices']).toEqual([
    'transactions (hour,server_id) WHERE hour IS NOT NULL is no longer unique',
    expect.stringContaining('becomes unique'),
    expect.stringContaining('becomes unique'),
  ])
  expect(found['0020-addresses']).toContain('addresses keeps older programs from deleting rows of accounts')
  const later = Object.entries(found).filter(([name]) => name > TOGETHER_SINCE)
  for (const [name, taken] of later) expect([name, taken]).toEqual([name, HARMLESS[name] ?? []])
})
