declare module '../database/schema.ts' {
  interface Schema {
    addresses: AddressTable
    reverse_records: ReverseRecordTable
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
  /** The server with which it was created, and will be released. */
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

/** A record that a name server may have. The row is written before the record is sent, and deleted after it. */
export interface ReverseRecordTable {
  address: string
  /** The name that was last sent; null: the record's deletion. */
  name: string | null
  /** The name server, as its setting names it without the key. */
  place: string
  /** The number of failed attempts since the last success. */
  failures: number
  /** The time to send it again: soon after a failure, or a day later, in case somebody else has changed it. */
  look_at: number
}
