import { labelsOf } from '../database/labels.ts'
import { isoTime } from '../http/contract/fields.ts'
import type { Network } from './schema.ts'
import type { NetworkServerTable, NetworkTable } from './tables.ts'

/** @param members the servers in it */
export function networkView(row: NetworkTable, members: readonly NetworkServerTable[]): Network {
  return {
    network_id: row.network_id,
    name: row.name,
    zone_slug: row.zone_slug,
    ip_range: row.ip_range,
    servers: members.map(({ server_id, ipv4 }) => ({ server_id, ipv4 })),
    labels: labelsOf(row),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}
