import type { Lent, Queries } from '../database/database.ts'
import type { Reading } from './reading.ts'

/** The servers whose readings are wanted, and what their figures are divided by. */
export type ReadServers = Lent<{ server_id: string; account_id: string; cpu: number }>

/** The last readings of servers, in the order of ids: the next ones after an id. */
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
