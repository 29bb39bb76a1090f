import pg from 'pg'

/** Flags of a PostgreSQL under measurement, which waits for its disk and counts its statements. */
export const MEASURED = [
  ...['-c', 'fsync=on', '-c', 'shared_buffers=512MB'],
  ...['-c', 'shared_preload_libraries=pg_stat_statements', '-c', 'pg_stat_statements.track_planning=on'],
]

/** The number of statements that are printed. */
const MOST_PRINTED = 20
const WIDTH = 110

/** Runs a measurement, and prints the statements that take most of PostgreSQL's time meanwhile, per order. */
export async function printingCostliest(url: string, orders: number, measure: () => Promise<void>) {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
  await client.query('SELECT pg_stat_statements_reset()')
  await measure()
  const { rows } = await client.query<Cost>(COSTS)
  await client.end()
  const all = rows.reduce((sum, { ms, plan_ms }) => sum + ms + plan_ms, 0) / orders
  console.log(
    `the most expensive of ${rows.length} statements, which take ${all.toFixed(2)} ms an order, with waits:`,
  )
  console.log('    ms  to plan    calls     rows   KB of WAL')
  for (const { ms, plan_ms, calls, rows: found, wal, query } of rows.slice(0, MOST_PRINTED)) {
    const each = (value: number, digits: number, width: number) =>
      (value / orders).toFixed(digits).padStart(width)
    const figures = [
      each(ms + plan_ms, 3, 6),
      each(plan_ms, 3, 9),
      each(calls, 2, 9),
      each(found, 2, 9),
      each(wal / 1024, 2, 12),
    ]
    console.log(`${figures.join('')}  ${query.replaceAll(/\s+/g, ' ').slice(0, WIDTH)}`)
  }
}

interface Cost {
  query: string
  calls: number
  rows: number
  ms: number
  plan_ms: number
  wal: number
}

const COSTS = `
  SELECT query, calls::float, rows::float, total_exec_time AS ms, total_plan_time AS plan_ms, wal_bytes::float AS wal
  FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid
  WHERE datname = current_database()
  ORDER BY total_exec_time + total_plan_time DESC`
