declare module '../database/schema.ts' {
  interface Schema {
    addresses: AddressTable
  }
}

/** A public address. The rows of released addresses stay, because usage lists them. */
export interface AddressTable {
  address_id: string
  account_id: string
  /** The project that is billed for it while no server has it. */
  project_id: string
  zone_slug: string
  family: 'ipv4' | 'ipv6'
  /** An IPv4 address, or a whole /64 of IPv6. */
  address: string
  server_id: string | null
  /** The server that it was created with, and is released with. */
  goes_with: string | null
  reverse_dns: string | null
  /** JSON. */
  labels: string
  price_month: number
  price_hour: number
  /** The time whose prices these are. */
  priced_at: number
  created_at: number
  updated_at: number
  released_at: number | null
}
