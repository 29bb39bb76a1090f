import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import type { PortTable } from './tables.ts'

/** Records which server had a host port, for `berthd trace`. Call it in the transaction that deletes the ports. */
export async function noteEnded(tx: Queries, ports: readonly PortTable[], now: number): Promise<void> {
  const rows = ports
    // A port that waited for a start was never open.
    .filter(({ status }) => status !== 'pending')
    .map(({ port_id, account_id, server_id, protocol, host_port, created_at }) => {
      return { port_id, account_id, server_id, protocol, host_port, created_at, ended_at: now }
    })
  if (rows.length > 0) await tx.insertInto('ended_ports').values(rows).execute()
}

/** Finds the servers that had a host port at a moment, by TCP and UDP, for operators. */
export async function portsAt(db: Queries, hostPort: number, moment: number) {
  const columns = ['account_id', 'server_id', 'protocol', 'created_at'] as const
  const open = db.selectFrom('ports').select(columns).where('host_port', '=', hostPort)
  const present = await open.where('status', '<>', 'pending').where('created_at', '<=', moment).execute()
  const ended = await db
    .selectFrom('ended_ports')
    .select([...columns, 'ended_at'])
    .where('host_port', '=', hostPort)
    .where('created_at', '<=', moment)
    .where('ended_at', '>', moment)
    .execute()
  return [...present.map((row) => ({ ...row, ended_at: null })), ...ended]
}

/** Deletes at most `limit` records that ended before a moment. @returns the number deleted */
export function forgetEnded(db: Database, before: number, limit: number): Promise<number> {
  return deleteFound(db, 'ended_ports', 'port_id', ids(db).where('ended_at', '<', before).limit(limit))
}

/** Deletes some of an account's records beyond the newest. @returns the number deleted */
export function forgetExcessEnded(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const newest = ids(db).where('account_id', '=', accountId).orderBy('ended_at', 'desc')
  return deleteFound(db, 'ended_ports', 'port_id', newest.limit(limit).offset(most))
}

function ids(db: Database) {
  return db.selectFrom('ended_ports').select('port_id')
}
