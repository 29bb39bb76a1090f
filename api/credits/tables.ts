declare module '../database/schema.ts' {
  interface Schema {
    promo_codes: PromoCodeTable
    credits: CreditTable
    trials: TrialTable
  }
}

/** A code that accounts redeem for credit. The code itself is not stored. */
export interface PromoCodeTable {
  promo_code_id: string
  /** The operator's name for it. */
  name: string
  /** SHA-256 of the code without dashes, hex. */
  hash: string
  amount: number
  /** Days after which the rest of the credit expires. */
  credit_days: number
  max_uses: number
  uses: number
  /** The end of its validity. */
  expires_at: number
  revoked_at: number | null
  created_at: number
}

/** Credit of an account that can expire. Its money is in the ledger; the row says how much may still expire. */
export interface CreditTable {
  credit_id: string
  account_id: string
  /** Null for the credit of a trial. */
  promo_code_id: string | null
  amount: number
  /** The part that no charge has used, up to this entry of the account's ledger. */
  unspent: number
  counted_to: number
  /** The part that expired. */
  expired: number
  expires_at: number
  /** When to book the end of the credit; null once it has ended. */
  look_at: number | null
  /** When it expired, or was found used up. */
  ended_at: number | null
  created_at: number
}

/** A mailbox that has received trial credit. */
export interface TrialTable {
  address_hash: string
  created_at: number
}
