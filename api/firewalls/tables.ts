declare module '../database/schema.ts' {
  interface Schema {
    firewalls: FirewallTable
    firewall_servers: FirewallServerTable
  }
}

export interface FirewallTable {
  firewall_id: string
  account_id: string
  name: string
  /** JSON, as customers gave them; ranges in canonical form. */
  rules: string
  /** Servers with matching labels have it, too. */
  label_selector: string | null
  /** The firewall's own labels, as JSON. */
  labels: string
  created_at: number
  updated_at: number
}

/** A server that has a firewall by its id. */
export interface FirewallServerTable {
  firewall_id: string
  server_id: string
}
