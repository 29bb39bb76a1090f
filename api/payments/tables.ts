declare module '../database/schema.ts' {
  interface Schema {
    payments: PaymentTable
    payment_returns: PaymentReturnTable
    payment_methods: PaymentMethodTable
    auto_top_ups: AutoTopUpTable
  }
}

/** A customer's payment through a provider. */
export interface PaymentTable {
  payment_id: string
  account_id: string
  provider: string
  /** The provider's own id; null until the provider knows the payment. */
  provider_id: string | null
  /** A second id that the provider uses in notifications about refunds and disputes; null if it has none. */
  charge_id: string | null
  /** `held`: the provider has money that was not booked; `problem` says why. */
  status: 'pending' | 'succeeded' | 'canceled' | 'held'
  amount: number
  /** The sums that refunds and disputes have taken back. */
  refunded: number
  disputed: number
  /** The provider's page, where the customer pays. */
  url: string | null
  /** The page to which the provider sends the customer back. */
  return_url: string
  /** The reason why something was not booked, for the operator; null if there is none. */
  problem: string | null
  created_at: number
  /** The time when it was added to the balance. */
  booked_at: number | null
  /** When the provider was last asked about the payment, and will be asked next; null: never. */
  looked_at: number | null
  look_at: number | null
  /** The saved method that is charged; null if the customer pays on the provider's page. */
  method_id: string | null
  /** 1 if the method is saved once it has paid. */
  saves_method: 0 | 1
  /** 1 if the balance fell below the line of an automatic top-up. */
  is_automatic: 0 | 1
  /**
   * A keyed hash of the card that paid, which is the same for all accounts; null if the provider reports no
   * card.
   */
  card: string | null
  /** The currency that the provider charges, if it is not rubles. `amount` is an estimate until it is booked. */
  charge_currency: string | null
  /** The sum in it, in hundredths of its smallest coin. */
  charge_amount: number | null
  /** The price of one unit of it in millionths of a ruble, when the payment was begun. */
  charge_rate: number | null
}

/** An account's settings for automatic top-ups. Its ledger row has the threshold too, unless they are off. */
export interface AutoTopUpTable {
  account_id: string
  below: number
  amount: number
  /** The most that automatic payments may take in a calendar month. */
  monthly_limit: number
  method_id: string
  /** The payment whose result has not been processed yet. */
  payment_id: string | null
  /** Payments in a row that were declined. */
  declines: number
  /** Null while they are on. */
  off_reason: 'declined' | 'method_deleted' | null
  updated_at: number
}

/** A card, wallet or account at a provider that the customer may charge without its page. No number is known here. */
export interface PaymentMethodTable {
  method_id: string
  account_id: string
  provider: string
  provider_id: string
  /** The provider's id of its owner; null if it needs none. */
  customer_id: string | null
  brand: string
  last_four: string | null
  /** The last month in which it can be charged, such as 2029-04. */
  expires: string | null
  created_at: number
  /** The time of its deletion by the customer; the provider has yet to be asked to forget it. */
  removed_at: number | null
}

/** Returned money of a payment: a refund, or a dispute by the customer's bank. */
export interface PaymentReturnTable {
  return_id: string
  payment_id: string
  kind: 'refund' | 'dispute'
  /** The provider's own id; null until a refund that the operator requested was sent. */
  provider_id: string | null
  amount: number
  /** The sum in the currency that was charged, in hundredths of its smallest coin; null: rubles. */
  charge_amount: number | null
  /** `requested` by the operator; `taken` from the balance; `reversed`: the money came back; `failed`: nothing was taken. */
  status: 'requested' | 'taken' | 'reversed' | 'failed'
  /** The operator's reason, or why it failed; null if it came from the provider. */
  reason: string | null
  created_at: number
}
