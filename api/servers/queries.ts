import type { Queries } from '../database/database.ts'
import { poweredStatuses } from './states.ts'

// What the SQL of other features joins, so that they need not know the table of servers: api/app.ts hands it to them.

/** Also those that are gone. */
export function allServers(db: Queries) {
  return db.selectFrom('servers').select(['server_id', 'name', 'project_id'])
}

/** Servers that are not gone. */
export function presentServers(db: Queries) {
  return db.selectFrom('servers').select('server_id').where('deleted_at', 'is', null)
}

/** What an operator sees of the servers of all accounts. */
export function operatedServers(db: Queries) {
  return presentServers(db).select([
    'account_id',
    'name',
    'status',
    'status_reason',
    'zone_slug',
    'cpu',
    'ram_mb',
    'disk_gb',
    'ssh_port',
    'created_at',
  ])
}

/** Servers whose machines may be on. */
export function poweredServers(db: Queries) {
  return presentServers(db).select('pool').where('status', 'in', poweredStatuses)
}
