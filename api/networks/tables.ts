declare module '../database/schema.ts' {
  interface Schema {
    networks: NetworkTable
    network_servers: NetworkServerTable
  }
}

/** A private network. */
export interface NetworkTable {
  network_id: string
  account_id: string
  name: string
  zone_slug: string
  /** A CIDR of private IPv4 addresses. */
  ip_range: string
  /** The unique number by which drivers identify it. */
  number: number
  /** JSON. */
  labels: string
  created_at: number
  updated_at: number
}

export interface NetworkServerTable {
  network_id: string
  server_id: string
  ipv4: string
}
