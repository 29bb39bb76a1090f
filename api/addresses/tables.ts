declare module '../database/schema.ts' {
  interface Schema {
    addresses: AddressTable
  }
}

/** A public address, also one that was given back: who pays for it saw it in usage. */
export interface AddressTable {
  address_id: string
  account_id: string
  /** Pays for it while no server has it. */
  project_id: string
  zone_slug: string
  family: 'ipv4' | 'ipv6'
  /** An IPv4 address, or a whole /64 of IPv6. */
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
