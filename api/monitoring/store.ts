import { sql } from 'kysely'
import type { Lent, Queries } from '../database/database.ts'
import { inParts } from '../database/in-parts.ts'
import type { MeterTable, SampleTable } from './tables.ts'

export type PresentServers = Lent<{ server_id: string; pool: string }>
export type PoweredServers = Lent<{ server_id: string; account_id: string; pool: string }>

/** Queries these servers, each with its last reading. */
export function listMetered(db: Queries, powered: PoweredServers, pools: readonly string[]) {
  return db
    .selectFrom(powered(db).as('powered'))
    .leftJoin('meters', 'meters.server_id', 'powered.server_id')
    .select(['powered.server_id', 'powered.account_id', 'powered.pool', 'series', 'reading'])
    .where('powered.pool', 'in', pools)
    .execute()
}

/**
 * Adds meters of servers that are measured for the first time, each under a number that no other process takes.
 * @returns the numbers; servers that another process has added meanwhile have none
 */
export async function addMeters(
  tx: Queries,
  servers: readonly { server_id: string }[],
): Promise<Map<string, number>> {
  const added = new Map<string, number>()
  for (let left = servers.map(({ server_id }) => server_id).sort(); left.length > 0; ) {
    const highest = await highestSeries(tx)
    const rows = left.map((server_id, at) => ({
      server_id,
      series: highest + 1 + at,
      reading: 'null',
      read_at: 0,
    }))
    const written = await tx
      .insertInto('meters')
      .values(rows)
      .onConflict((oc) => oc.doNothing())
      .returning(['server_id', 'series'])
      .execute()
    for (const { server_id, series } of written) added.set(server_id, series)
    const missing = left.filter((id) => !added.has(id))
    // The numbers of servers that are still missing were taken meanwhile.
    const others =
      missing.length > 0
        ? await lockMeters(
            tx,
            missing.map((server_id) => ({ server_id })),
          )
        : new Map()
    left = missing.filter((id) => !others.has(id))
  }
  return added
}

/**
 * Locks the meters of these servers until the transaction ends, in one order so that no two processes
 * deadlock, and returns when each was measured last.
 */
export async function lockMeters(
  tx: Queries,
  servers: readonly { server_id: string }[],
): Promise<Map<string, number>> {
  const rows = await inParts(servers.map(({ server_id }) => server_id).sort(), (ids) =>
    tx
      .selectFrom('meters')
      .select(['server_id', 'read_at'])
      .where('server_id', 'in', ids)
      .orderBy('server_id')
      .forUpdate()
      .execute(),
  )
  return new Map(rows.map(({ server_id, read_at }) => [server_id, read_at]))
}

export function findMeter(db: Queries, serverId: string): Promise<MeterTable | undefined> {
  return db.selectFrom('meters').selectAll().where('server_id', '=', serverId).executeTakeFirst()
}

export async function highestSeries(db: Queries): Promise<number> {
  const { highest } = await db
    .selectFrom('meters')
    .select((eb) => eb.fn.max('series').as('highest'))
    .executeTakeFirstOrThrow()
  return highest ?? 0
}

/** Returns the time of the last round in these pools, by any process. */
export async function lastReadAt(
  db: Queries,
  present: PresentServers,
  pools: readonly string[],
): Promise<number | null> {
  const { last } = await db
    .selectFrom('meters')
    .innerJoin(present(db).as('present'), 'present.server_id', 'meters.server_id')
    .where('present.pool', 'in', pools)
    .select((eb) => eb.fn.max('read_at').as('last'))
    .executeTakeFirstOrThrow()
  return last
}

export function saveMeters(tx: Queries, rows: readonly MeterTable[]) {
  return tx
    .insertInto('meters')
    .values(rows)
    .onConflict((oc) =>
      oc.column('server_id').doUpdateSet((eb) => ({
        reading: eb.ref('excluded.reading'),
        read_at: eb.ref('excluded.read_at'),
      })),
    )
    .execute()
}

/** Changes a reading, unless a round has replaced it. */
export function saveReading(db: Queries, { server_id, read_at }: MeterTable, reading: string) {
  return db
    .updateTable('meters')
    .set({ reading })
    .where('server_id', '=', server_id)
    .where('read_at', '=', read_at)
    .execute()
}

/** If two rounds fall in one slot, the first one counts. */
export function insertSamples(tx: Queries, rows: readonly SampleTable[]) {
  return tx
    .insertInto('samples')
    .values(rows)
    .onConflict((oc) => oc.doNothing())
    .execute()
}

/** The series of servers in these pools that were read at this time or later. */
export async function seriesReadSince(
  db: Queries,
  readAt: number,
  present: PresentServers,
  pools: readonly string[],
): Promise<number[]> {
  const rows = await db
    .selectFrom('meters')
    .innerJoin(present(db).as('present'), 'present.server_id', 'meters.server_id')
    .select('series')
    .where('read_at', '>=', readAt)
    .where('present.pool', 'in', pools)
    .execute()
  return rows.map(({ series }) => series)
}

export const VALUES = [
  'cpu',
  'memory_mb',
  'disk_mb',
  'disk_read',
  'disk_write',
  'network_rx',
  'network_tx',
] as const satisfies readonly (keyof SampleTable)[]
export type ValueColumn = (typeof VALUES)[number]

/**
 * The beginning of the slot that a sample falls in. It is a literal, because PostgreSQL would treat two parameters as
 * different expressions.
 */
const slotOf = (seconds: number) => sql<number>`at - at % ${sql.lit(seconds)}`

/** Computes the samples of one tier as means of a finer one. Does nothing if they exist already. */
export function rollUp(
  tx: Queries,
  series: readonly number[],
  resolution: { from: number; to: number },
  span: { from: number; until: number },
) {
  const slot = slotOf(resolution.to)
  return tx
    .insertInto('samples')
    .columns(['series', 'resolution', 'at', ...VALUES])
    .expression(
      tx
        .selectFrom('kept_samples')
        .select(['series', sql.lit(resolution.to).as('resolution'), slot.as('at')])
        .select((eb) => VALUES.map((column) => sql`cast(round(avg(${eb.ref(column)})) as bigint)`.as(column)))
        .where('series', 'in', series)
        .where('resolution', '=', resolution.from)
        .where('at', '>=', span.from)
        .where('at', '<', span.until)
        .groupBy(['series', slot]),
    )
    .onConflict((oc) => oc.doNothing())
    .execute()
}

/** The samples of one tier from one second until before another. */
export interface Piece {
  resolution: number
  /**
   * The duration of each sample: the finest ones last for the sampler's interval, whatever their resolution.
   */
  seconds: number
  from: number
  until: number
}

/** Returns the means over each step of consecutive pieces, in order; steps without samples are left out. */
export async function averages(
  db: Queries,
  series: number,
  [first, second]: readonly [Piece, Piece],
  step: number,
  columns: readonly ValueColumn[],
): Promise<({ at: number } & Partial<Record<ValueColumn, number | null>>)[]> {
  const slot = slotOf(step)
  const samples = ({ resolution, seconds, from, until }: Piece) =>
    db
      .selectFrom('kept_samples')
      .select(['at', sql.lit(seconds).as('seconds'), ...columns])
      .where('series', '=', series)
      .where('resolution', '=', resolution)
      .where('at', '>=', from)
      .where('at', '<', until)
  return db
    .selectFrom(samples(first).unionAll(samples(second)).as('pieces'))
    .select(slot.as('at'))
    .select(columns.map((column) => meanOf(column).as(column)))
    .groupBy(slot)
    .orderBy(slot)
    .execute()
}

/** A sample is weighted by its duration. */
function meanOf(column: ValueColumn) {
  const value = sql.ref(column)
  return sql<number | null>`cast(sum(${value} * seconds) as double precision)
    / nullif(sum(case when ${value} is null then 0 else seconds end), 0)`
}

export function latestSample(db: Queries, series: number, resolution: number) {
  return db
    .selectFrom('kept_samples')
    .selectAll()
    .where('series', '=', series)
    .where('resolution', '=', resolution)
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The next meters in a walk through all of them, and whether their servers are gone. */
export async function nextMeters(db: Queries, present: PresentServers, after: number, limit: number) {
  const rows = await db
    .selectFrom('meters')
    .leftJoin(present(db).as('present'), 'present.server_id', 'meters.server_id')
    .select(['series', 'present.server_id'])
    .where('series', '>', after)
    .orderBy('series')
    .limit(limit)
    .execute()
  return rows.map(({ series, server_id }) => ({ series, isGone: server_id === null }))
}

/**
 * Deletes samples of these series from before `at`, at most `limit`.
 * @param from the table that contains them
 * @returns the number deleted
 */
export async function deleteSamples(
  db: Queries,
  from: string,
  {
    series,
    resolution,
    before,
    limit,
  }: { series: readonly number[]; resolution: number; before: number; limit: number },
): Promise<number> {
  const table = `${from} as samples` as 'samples as samples' // it has the same columns
  const { numDeletedRows } = await db
    // Without it, PostgreSQL may repeat the search for each row of the table.
    .with(
      (cte) => cte('old').materialized(),
      (select) =>
        select
          .selectFrom(table)
          .select(['series', 'resolution', 'at'])
          .where('series', 'in', series)
          .where('resolution', '=', resolution)
          .where('at', '<', before)
          .limit(limit),
    )
    .deleteFrom(table)
    .where((eb) =>
      eb(
        eb.refTuple('samples.series', 'samples.resolution', 'samples.at'),
        'in',
        eb
          .selectFrom('old')
          .select(['old.series', 'old.resolution', 'old.at'])
          .$asTuple('series', 'resolution', 'at'),
      ),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

export function deleteMeters(db: Queries, series: readonly number[]) {
  return db.deleteFrom('meters').where('series', 'in', series).execute()
}
