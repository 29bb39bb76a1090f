import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { lockDataDir, openDatabase } from '../../api/commands/installation.ts'
import { migrate } from '../../api/database/migrate.ts'
import { openSqlite } from '../../api/database/sqlite.ts'
import { start, twoAtATime } from './harness/child.ts'

const OLD = '0004-events'

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'berth-migrate-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** A data folder as an earlier version left it, with an account that has a balance. */
async function oldInstallation(dataDir: string): Promise<void> {
  mkdirSync(dataDir)
  const db = openSqlite(path.join(dataDir, 'berth.db'))
  await migrate(db, { upTo: OLD })
  await sql`INSERT INTO accounts (account_id, email, name, status, default_project_id, quotas,
    servers_used, cpu_used, ram_mb_used, disk_gb_used, created_at)
    VALUES ('a', 'a@example.com', 'A', 'active', 'p', '{}', 0, 0, 0, 0, 0)`.execute(db)
  await sql`INSERT INTO transactions (transaction_id, account_id, sequence, type, balance_before, amount, balance_after,
    description, created_at) VALUES ('t', 'a', 1, 'payment', 0, 70, 70, '', 1)`.execute(db)
  await sql`INSERT INTO ledgers (account_id, sequence, balance) VALUES ('a', 1, 70)`.execute(db)
  await db.destroy()
}

/** All that a database holds of schema and rows, but for the moments at which it was migrated. */
function contents(file: string): Record<string, unknown> {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const schema = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all()
    const names = schema.filter(({ type }) => type === 'table').map(({ name }) => String(name))
    const rows = names.map((name) => {
      const columns = name === 'kysely_migration' ? 'name' : '*'
      return [name, db.prepare(`SELECT ${columns} FROM "${name}" ORDER BY 1`).all()]
    })
    const faults = [db.prepare('PRAGMA integrity_check').all(), db.prepare('PRAGMA foreign_key_check').all()]
    return { schema, rows: Object.fromEntries(rows), faults }
  } finally {
    db.close()
  }
}

test('killed at statements all over a migration, the next start finds the old database or the new one, and a copy', async () => {
  const root = folder()
  const old = path.join(root, 'old')
  await oldInstallation(old)
  const before = contents(path.join(old, 'berth.db'))

  const migrateIn = async (name: string, dieAt: number) => {
    const dataDir = path.join(root, name)
    cpSync(old, dataDir, { recursive: true })
    const child = start('test/process/harness/migrator.ts', [dataDir, String(dieAt)])
    return { dataDir, child, ...(await child.ended) }
  }
  const whole = await migrateIn('whole', 0)
  expect(whole.child.stderr).toBe('')
  const after = contents(path.join(whole.dataDir, 'berth.db'))
  expect(after).toMatchObject({
    faults: [[{ integrity_check: 'ok' }], []],
    rows: { ledgers: [{ balance: 70 }] },
  })
  const statements = Number(/(\d+) statements/.exec(whole.child.stdout)?.[1])
  expect(statements).toBeGreaterThan(20)

  // Each migration adds statements; those in its middle differ in nothing that a kill could meet.
  const isEdge = (at: number) => at < 15 || at >= statements - 15
  const deaths = Array.from({ length: statements }, (_, at) => at).filter((at) => isEdge(at) || at % 7 === 0)
  const wrong: unknown[] = []
  const outcomes = { old: 0, new: 0 }
  await twoAtATime(
    deaths.map((at) => async () => {
      const { dataDir, child, signal } = await migrateIn(`killed-${at + 1}`, at + 1)
      const file = path.join(dataDir, 'berth.db')
      const copies = path.join(dataDir, 'database-copies')
      if (signal !== 'SIGKILL') wrong.push({ at, signal, stderr: child.stderr })
      const found = JSON.stringify(contents(file))
      if (found === JSON.stringify(after)) outcomes.new += 1
      else outcomes.old += 1
      const db = await openDatabase({ dataDir }, { say: () => {}, holdsLock: true, mayCreate: false })
      await db.destroy()
      if (JSON.stringify(contents(file)) !== JSON.stringify(after))
        wrong.push({ at, contents: contents(file) })
      const copy = path.join(copies, `${OLD}.db`)
      if (JSON.stringify(contents(copy)) !== JSON.stringify(before)) wrong.push({ at, copy: contents(copy) })
      if (readdirSync(copies).length !== 1) wrong.push({ at, copies: readdirSync(copies) })
      rmSync(dataDir, { recursive: true })
    }),
  )
  expect(wrong).toEqual([])
  // Nearly every statement is before the one commit.
  expect(outcomes.old).toBeGreaterThan(deaths.length - 8)
  expect(outcomes.new).toBeGreaterThan(0)
}, 900_000)

test('the copy from before a migration is private, is said, and the last three are kept', async () => {
  const dataDir = path.join(folder(), 'data')
  await oldInstallation(dataDir)
  const copies = path.join(dataDir, 'database-copies')
  mkdirSync(copies)
  // A database that was put back is older than its copies: they go by when they were made, not by their schema.
  for (const [day, name] of ['0009-a.db', '0009-b.db', '0009-c.db', '0009-c.db.new'].entries()) {
    cpSync(path.join(dataDir, 'berth.db'), path.join(copies, name))
    utimesSync(path.join(copies, name), day * 86_400, day * 86_400)
  }
  const said: string[] = []
  const db = await openDatabase(
    { dataDir },
    { say: (line) => said.push(line), holdsLock: false, mayCreate: false },
  )
  await db.destroy()
  const copy = path.join(copies, `${OLD}.db`)
  expect(said).toEqual([`Migrating the database. A copy of the old one is ${copy}.`])
  expect(readdirSync(copies)).toEqual([`${OLD}.db`, '0009-b.db', '0009-c.db'])
  expect(statSync(copy).mode & 0o777).toBe(0o600)
  expect(existsSync(`${copy}-wal`)).toBe(false)
})

test('a newer database, and a migration that cannot be carried out, are one sentence and exit code 1', async () => {
  const root = folder()
  const broken = path.join(root, 'broken')
  await oldInstallation(broken)
  const newer = path.join(root, 'newer')
  cpSync(broken, newer, { recursive: true })
  const change = (dataDir: string, statement: string) => {
    const db = new DatabaseSync(path.join(dataDir, 'berth.db'))
    db.exec(statement)
    db.close()
  }
  change(broken, 'ALTER TABLE webhooks ADD COLUMN given_up_to bigint')
  change(newer, `INSERT INTO kysely_migration VALUES ('9999-later', '2030-01-01T00:00:00.000Z')`)
  for (const [dataDir, sentence] of [
    [
      broken,
      /^The migration 0006-webhooks failed: duplicate column name: given_up_to; an earlier version .* was not changed, and .*copies has a copy of it\.\n$/,
    ],
    [
      newer,
      /^The database was written by a newer version of Berth: .* Run that version again; .*database-copies\.\n$/,
    ],
  ] as const) {
    const child = start('api/main.ts', ['account', 'list'], { BERTH_DATA: dataDir })
    expect(await child.ended).toMatchObject({ code: 1 })
    expect(child.stderr.split('\n').slice(-2).join('\n')).toMatch(sentence)
    expect(child.stdout).toBe('')
  }
})

test('an operator’s command does not migrate the database under a service', async () => {
  const dataDir = path.join(folder(), 'data')
  await oldInstallation(dataDir)
  const unlock = lockDataDir({ dataDir })
  const child = start('api/main.ts', ['account', 'list'], { BERTH_DATA: dataDir })
  expect(await child.ended).toMatchObject({ code: 1 })
  expect(child.stderr).toBe(
    `The database needs a migration, and an earlier version serves ${dataDir}. Start that service again first: it migrates.\n`,
  )
  unlock()
  const again = start('api/main.ts', ['account', 'list'], { BERTH_DATA: dataDir })
  expect(await again.ended).toMatchObject({ code: 0 })
  expect(again.stdout).toContain('a@example.com')
})
