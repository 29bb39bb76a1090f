declare module '../../database/schema.ts' {
  interface Schema {
    device_logins: DeviceLoginTable
  }
}

/** A program on a machine without a browser that requests access. */
export interface DeviceLoginTable {
  /** SHA-256 of the program's device code, hex. */
  device_hash: string
  /** Keyed hash of the code that a person types, because the code is short. */
  user_hash: string
  client_name: string
  address: string
  /** Scopes separated by spaces; null: the scopes of the approver's role. */
  scopes: string | null
  /** The person who approved it. */
  account_id: string | null
  person_id: string | null
  status: 'pending' | 'approved' | 'denied'
  created_at: number
  expires_at: number
}
