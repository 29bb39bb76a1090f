declare module '../database/schema.ts' {
  interface Schema {
    transactions: TransactionTable
    ledgers: LedgerTable
    booked_references: BookedReferenceTable
    rates: RateTable
    billing_meters: BillingMeterTable
  }
}

/** Types of things that are billed. The list may grow. */
export const itemTypes = ['server', 'address', 'snapshot', 'volume', 'image', 'backup', 'iso'] as const
export type ItemType = (typeof itemTypes)[number]

/**
 * An entry of an account's ledger. Entries are a chain that foreign keys hold together. None is changed or removed, but
 * the charges of long ago are rolled up: those for an item become one entry, and no balance beside them changes.
 */
export interface TransactionTable {
  transaction_id: string
  account_id: string
  /** 1, 2, 3… within the account; the numbers of entries that were rolled up are missing. */
  sequence: number
  /** The sequence of the entry before; null for the first. */
  previous: number | null
  type: 'charge' | 'payment' | 'refund' | 'correction'
  balance_before: number
  amount: number
  balance_after: number
  /** The item that was charged for; null if the entry is not a charge. */
  item_type: ItemType | null
  item_id: string | null
  /** The item's id again: processes of the previous version find the entry by it. */
  server_id: string | null
  /**
   * For a charge: the item's project at the time, the hour in which the charge begins, and the seconds billed. If the
   * item then moved to another account, the hour is the last millisecond for which this account pays.
   */
  project_id: string | null
  hour: number | null
  seconds: number | null
  /** For charges that were rolled up: the hour in which the first of them begins; `hour` is that of the last. */
  first_hour: number | null
  /** For a charge for traffic: the bytes billed. */
  bytes: number | null
  description: string
  /** Makes a repeat harmless: unique in the installation, by `booked_references`. */
  reference: string | null
  created_at: number
}

/** The entry that has a reference. Entries from before references were unique may share one; the earliest has it. */
export interface BookedReferenceTable {
  reference: string
  account_id: string
  sequence: number
}

/** The end of an account's chain of entries, and its balance. */
export interface LedgerTable {
  account_id: string
  /** The last entry; null if there is none. */
  sequence: number | null
  balance: number
  /** The amount that the account may owe before its balance counts as used up; 0: it pays in advance. */
  credit_limit: number
  /** The sum of its payments, less chargebacks. */
  paid: number
  /** The times since which the balance has been low (lasts less than the warning time), and used up. */
  low_since: number | null
  depleted_since: number | null
  /** The end of the last month that its documents cover (0: none yet), and the time at which the next one is due. */
  documented_until: number
  document_due_at: number
  /** The balance below which the account is topped up automatically; null: never. */
  top_up_below: number | null
  /** The time from which a top-up may begin; null: not before the balance has been above the line again. */
  top_up_at: number | null
  /** The end of the last month that is rolled up (0: none yet), and the entry up to which the following month is. */
  rolled_until: number
  rolled_after: number
  /** The number of entries that were removed by rolling up. */
  rolled_entries: number
}

/** The price of an item over a period. */
export interface RateTable {
  item_type: ItemType
  item_id: string
  /** The item's id again: processes of the previous version find the row by it. */
  server_id: string
  starts_at: number
  /** Null while the rate is in force. */
  ends_at: number | null
  account_id: string
  price_hour: number
  price_month: number
  /** The traffic in GB that a calendar month includes, and the price in units of each further TB. */
  traffic_gb: number
  traffic_price: number
}

/** The time until which an item is charged. */
export interface BillingMeterTable {
  item_type: ItemType
  item_id: string
  /** The item's id again: processes of the previous version find the row by it. */
  server_id: string
  account_id: string
  charged_until: number
  /** Null if nothing is left to charge. */
  due_at: number | null
  /** The last month in which traffic was charged, and the bytes charged in it. */
  traffic_month: number
  traffic_charged: number
}
