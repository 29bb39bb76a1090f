import { labelsOf } from '../database/labels.ts'
import { isoTime } from '../http/contract/fields.ts'
import type { Firewall, FirewallRule } from './schema.ts'
import type { FirewallTable } from './tables.ts'

/** A firewall with the servers that it is attached to by id. */
export type FirewallRow = FirewallTable & { serverIds: string[] }

export function firewallView(row: FirewallRow): Firewall {
  return {
    firewall_id: row.firewall_id,
    name: row.name,
    rules: rulesOf(row),
    server_ids: row.serverIds,
    label_selector: row.label_selector,
    labels: labelsOf(row),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}

export function rulesOf(row: Pick<FirewallTable, 'rules'>): FirewallRule[] {
  const rules: FirewallRule[] = JSON.parse(row.rules)
  return rules
}
