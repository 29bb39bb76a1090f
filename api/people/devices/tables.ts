declare module '../../database/schema.ts' {
  interface Schema {
    device_logins: DeviceLoginTable
  }
}

/** A program on a machine without a browser that asks to be let in. */
export interface DeviceLoginTable {
  /** SHA-256 of what the program asks with, hex. */
  device_hash: string
  /** Keyed hash of what a person types: it is short. */
  user_hash: string
  client_name: string
  address: string
  /** Separated by spaces; null: those of the role of who approves. */
  scopes: string | null
  /** The person who approved it. */
  account_id: string | null
  person_id: string | null
  status: 'pending' | 'approved' | 'denied'
  created_at: number
  expires_at: number
}
