declare module '../database/schema.ts' {
  interface Schema {
    transfers: TransferTable
  }
}

/** An invoice that an account pays by bank transfer. Its money is in the ledger. */
export interface TransferTable {
  transfer_id: string
  account_id: string
  /** Twelve digits in groups of four, which link incoming money to the account. */
  reference: string
  amount: number
  /** The seller's name, address, tax id and bank at the time of issue, as JSON. */
  seller: string
  /** The sum of the money received. */
  arrived: number
  arrived_at: number | null
  expires_at: number
  created_at: number
}
