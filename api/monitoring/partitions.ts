import { sql } from 'kysely'
import { type Database, isLockFailure, isSqlite, lockName, type Queries } from '../database/database.ts'
import { tiers } from './tiers.ts'

const DAY = 86_400
/** A drop waits for all readers, such as pg_dump, and later readers wait behind it. */
const LOCK_MS = 400

/** A table of samples on PostgreSQL. */
interface Part {
  name: string
  /** Null: it has samples of all tiers, from an import or from before there were partitions. */
  resolution: number | null
  /** The end of its last slot, in seconds since the epoch. */
  until: number
}

const dayOf = (seconds: number) => Math.floor(seconds / DAY)

async function partsOf(db: Queries): Promise<Part[]> {
  const { rows } = await sql<{ name: string }>`SELECT relname AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname LIKE 'samples\\_%'`.execute(
    db,
  )
  return rows.flatMap(({ name }): Part[] => {
    const [, tier, day] = /^samples_(\d+|until)_(\d+)$/.exec(name) ?? []
    if (day === undefined) return []
    if (tier === 'until') return [{ name, resolution: null, until: Number(day) * DAY }]
    return [{ name, resolution: Number(tier), until: (Number(day) + 1) * DAY }]
  })
}

/** Finds the table of samples outside of partitions; its rows are read, and deleted with their servers. */
export async function tableBefore(db: Queries): Promise<string | undefined> {
  if (isSqlite(db)) return undefined
  return (await partsOf(db)).find(({ resolution }) => resolution === null)?.name
}

/** Creates the partitions for samples of this period and of one more day. SQLite has no partitions. */
export async function addPartitions(db: Database, from: number, until: number): Promise<void> {
  if (isSqlite(db)) return
  const days = Array.from({ length: dayOf(until) + 2 - dayOf(from) }, (_, at) => dayOf(from) + at)
  await inTurn(db, async (tx) => {
    const present = new Set((await partsOf(tx)).map(({ name }) => name))
    for (const { resolution } of tiers)
      for (const day of days) {
        const name = `samples_${resolution}_${day}`
        if (present.has(name)) continue
        const bounds = `FROM (${resolution}, ${day * DAY}) TO (${resolution}, ${(day + 1) * DAY})`
        // Attaching an existing table blocks nobody; creating it as a partition would.
        await sql.raw(`CREATE TABLE ${name} (LIKE samples INCLUDING ALL)`).execute(tx)
        await sql.raw(`ALTER TABLE samples ATTACH PARTITION ${name} FOR VALUES ${bounds}`).execute(tx)
      }
  })
}

/**
 * Drops each table whose samples are all too old. A table that is being read for long is left to a later
 * call.
 */
export async function dropPartitions(db: Database, now: number): Promise<void> {
  if (isSqlite(db)) return
  const keptFor = new Map<number | null, number>(tiers.map((tier) => [tier.resolution, tier.keptFor]))
  const longest = Math.max(...keptFor.values())
  for (const { name, resolution, until } of await partsOf(db)) {
    if (until > now - (keptFor.get(resolution) ?? longest)) continue
    try {
      await inTurn(db, async (tx) => {
        if (resolution === null) await readAlso(tx, null)
        await sql.raw(`DROP TABLE IF EXISTS ${name}`).execute(tx)
      })
    } catch (error) {
      if (!isLockFailure(error)) throw error
    }
  }
}

/**
 * Returns the table for imported samples of any age. On PostgreSQL it is created, and dropped once they are
 * too old.
 */
export async function tableForImport(db: Database, now: number): Promise<string> {
  if (isSqlite(db)) return 'samples'
  return inTurn(db, async (tx) => {
    const known = await tableBefore(tx)
    if (known) return known
    const name = `samples_until_${dayOf(now) + 1}`
    await sql.raw(`CREATE TABLE ${name} (LIKE samples INCLUDING ALL)`).execute(tx)
    await readAlso(tx, name)
    return name
  })
}

/** Sets the table that the view shows besides the partitions. */
async function readAlso(tx: Queries, before: string | null): Promise<void> {
  const rest = before === null ? '' : `UNION ALL SELECT * FROM ${before}`
  await sql.raw(`CREATE OR REPLACE VIEW kept_samples AS SELECT * FROM samples ${rest}`).execute(tx)
}

/** Changes the tables while no other process does. */
function inTurn<Result>(db: Database, change: (tx: Queries) => Promise<Result>): Promise<Result> {
  return db.transaction().execute(async (tx) => {
    await lockName(tx, 'samples')
    await sql`SET LOCAL lock_timeout = ${sql.lit(LOCK_MS)}`.execute(tx)
    return change(tx)
  })
}
