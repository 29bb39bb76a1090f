import { isoTime } from '../http/contract/fields.ts'
import type { PublishedPort } from './schema.ts'
import type { PortTable } from './tables.ts'

/** @param host the name or address that customers connect to */
export function portView(row: PortTable, host: string): PublishedPort {
  return {
    port_id: row.port_id,
    server_id: row.server_id,
    protocol: row.protocol,
    port: row.port,
    host,
    host_port: row.host_port,
    is_system: row.is_system === 1,
    status: row.status,
    created_at: isoTime(row.created_at),
  }
}
