/** Names of the payment providers that Berth knows. */
export const providerNames = ['yookassa', 'stripe'] as const
export type ProviderName = (typeof providerNames)[number]

/** A payment that a customer wants to make. */
export interface Order {
  /** The key under which a repeat finds the first payment. */
  paymentId: string
  accountId: string
  /** Units. */
  amount: number
  returnUrl: string
  /** The customer's address, for receipts. */
  email: string
  /** The name of the hoster. */
  seller: string
}

/** Money that goes back, as the provider reports it. */
export interface Return {
  kind: 'refund' | 'dispute'
  providerId: string
  /** Units, and the currency in capitals. */
  amount: number
  currency: string
  /** `returned`: the money has come back to the operator, or never left. */
  status: 'pending' | 'taken' | 'reversed'
}

/** A payment as the provider's own API reports it. */
export interface Found {
  status: 'pending' | 'succeeded' | 'canceled'
  /** The sum that has arrived, or is expected while it is pending; in units, with the currency in capitals. */
  amount: number
  currency: string
  chargeId: string | null
  returns: readonly Return[]
}

/**
 * A service that takes customers' money. Each method asks its API, and may be repeated.
 * @throws NoAnswer if it does not answer, and Refused if it refuses the request
 */
export interface PaymentProvider {
  readonly name: ProviderName
  /** The name that customers know. */
  readonly title: string
  /** Begins a payment. @returns its id at the provider, and the page where the customer pays */
  open(order: Order): Promise<{ providerId: string; url: string | null }>
  find(providerId: string): Promise<Found>
  /** Gives a part of a payment back. @returns the id of the refund */
  refund(refund: {
    refundId: string
    payment: { providerId: string; chargeId: string | null }
    amount: number
    reason: string
    email: string
  }): Promise<string>
}

/** The provider refuses a request, and would refuse a repeat of it. */
export class Refused extends Error {}
