import type { Lent, Queries } from '../database/database.ts'
import type { Reading } from './reading.ts'

/** The servers to read, with the values by which their figures are divided. */
export type ReadServers = Lent<{ server_id: string; account_id: string; cpu: number }>

/** Returns the last readings of the next servers after an id, in the order of ids. */
export async function nextReadings(db: Queries, servers: ReadServers, after: string, limit: number) {
  const rows = await db
    .selectFrom(servers(db).as('servers'))
    .innerJoin('meters', 'meters.server_id', 'servers.server_id')
    .select(['servers.server_id', 'account_id', 'cpu', 'reading'])
    .where('servers.server_id', '>', after)
    .orderBy('servers.server_id')
    .limit(limit)
    .execute()
  return rows.map(({ reading: text, ...server }) => {
    const reading: Reading | null = JSON.parse(text)
    return { ...server, reading }
  })
}
