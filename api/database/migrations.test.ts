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
 * Changes that look as if they took something away, and don't: what older programs add to the ledger goes on from its
 * end, so no two entries of theirs have one number, or name one entry. No program names these indexes in ON CONFLICT.
 */
const HARMLESS: Record<string, string[]> = {
  '0074-rolled-up-charges': [
    'transactions (account_id,sequence) is unique no more',
    "transactions (account_id) WHERE previous IS NULL is to be unique, which older programs don't know",
    "transactions (account_id,previous) is to be unique, which older programs don't know",
  ],
}

interface Table {
  columns: Map<string, { type: string; isFilled: boolean }>
  /** The columns of unique indexes, with their conditions: what ON CONFLICT of the older program names. */
  uniques: Set<string>
  /** The tables whose rows must not be deleted while it refers to them. */
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

/** Lists changes that a program made for the earlier tables can't work with. */
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
        .map((unique) => `${name} ${unique} is unique no more`),
      ...[...table.uniques]
        .filter(
          (unique) =>
            !old.uniques.has(unique) && [...old.columns.keys()].some((column) => unique.includes(column)),
        )
        .map((unique) => `${name} ${unique} is to be unique, which older programs don't know`),
    ]
  })
  return [...held, ...changed]
}

test('migrations only add, so that processes of the version before can go on serving', async () => {
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
    'transactions (hour,server_id) WHERE hour IS NOT NULL is unique no more',
    expect.stringContaining('is to be unique'),
    expect.stringContaining('is to be unique'),
  ])
  expect(found['0020-addresses']).toContain('addresses keeps older programs from deleting rows of accounts')
  const later = Object.entries(found).filter(([name]) => name > TOGETHER_SINCE)
  for (const [name, taken] of later) expect([name, taken]).toEqual([name, HARMLESS[name] ?? []])
})
