// Tables of schema.ts that are about networks.

/** A public address, also one that was given back: who pays for it saw it in usage. */
export interface AddressTable {
  address_id: string
  account_id: string
  /** Pays for it while no server has it. */
  project_id: string
  zone_slug: string
  family: 'ipv4' | 'ipv6'
  /** Of IPv6 a whole /64. */
  address: string
  server_id: string | null
  /** The server that it came with, and is given back with. */
  goes_with: string | null
  reverse_dns: string | null
  price_month: number
  price_hour: number
  /** The moment whose price it is. */
  priced_at: number
  created_at: number
  updated_at: number
  released_at: number | null
}

/** A private network. */
export interface NetworkTable {
  network_id: string
  account_id: string
  name: string
  zone_slug: string
  /** A CIDR of private IPv4 addresses. */
  ip_range: string
  /** What drivers call it; no other network has it. */
  number: number
  created_at: number
  updated_at: number
}

export interface NetworkServerTable {
  network_id: string
  server_id: string
  ipv4: string
}

export interface FirewallTable {
  firewall_id: string
  account_id: string
  name: string
  /** JSON, as customers gave them; ranges in canonical form. */
  rules: string
  /** Servers with such labels have it too. */
  label_selector: string | null
  created_at: number
  updated_at: number
}

/** A server that has a firewall by its id. */
export interface FirewallServerTable {
  firewall_id: string
  server_id: string
}

export interface PortTable {
  port_id: string
  account_id: string
  server_id: string
  protocol: 'tcp' | 'udp'
  port: number
  host_port: number
  /** 1 for the one that leads to SSH, which is the service's. */
  is_system: number
  created_at: number
  /** Where ports of a server that runs are fixed, those to open, and to close, at its next start. */
  status: 'active' | 'pending' | 'closing'
}
