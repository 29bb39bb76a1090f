/** Names of the payment providers that Berth knows. */
export const providerNames = ['yookassa', 'stripe'] as const
export type ProviderName = (typeof providerNames)[number]

/** A payment that a customer wants to make. */
export interface Order {
  /** The key under which a repeat finds the first payment. */
  paymentId: string
  accountId: string
  /** Units of rubles, or hundredths of the smallest coin of another currency. */
  amount: number
  /** In capitals. */
  currency: string
  returnUrl: string
  /** The customer's address, for receipts. */
  email: string
  /** The name of the hoster. */
  seller: string
  /** The saved method to charge; null if the customer pays on the provider's page. */
  method: SavedMethod | null
  /** True if the method is to be saved once it has paid. */
  savesMethod: boolean
}

/** The provider's ids of a saved method. */
export interface SavedMethod {
  providerId: string
  customerId: string | null
}

/** A method that the provider has saved, by which it can be charged later. */
export interface FoundMethod extends SavedMethod {
  brand: string
  lastFour: string | null
  /** A month such as 2029-04. */
  expires: string | null
}

/** Money that goes back, as the provider reports it. */
export interface Return {
  kind: 'refund' | 'dispute'
  providerId: string
  /** Units, or hundredths of the smallest coin of another currency than rubles. */
  amount: number
  /** In capitals. */
  currency: string
  /** `returned`: the money has come back to the operator, or never left. */
  status: 'pending' | 'taken' | 'reversed'
}

/** A payment as the provider's own API reports it. */
export interface Found {
  status: 'pending' | 'succeeded' | 'canceled'
  /** The sum that was paid, or is expected while it is pending, as in an order. */
  amount: number
  currency: string
  chargeId: string | null
  /** The sum that the payment became on the operator's account with the provider; missing or null: it is not known. */
  settled?: { amount: number; currency: string } | null
  returns: readonly Return[]
  /** The method that it has saved, if it was to. */
  method: FoundMethod | null
  /** Stands for the card that paid, whichever customer it is of; missing or null: it is not known. */
  card?: string | null
}

/**
 * A service that takes customers' money. Each method asks its API, and may be repeated.
 * @throws NoAnswer if it does not answer, and Refused if it refuses the request
 */
export interface PaymentProvider {
  readonly name: ProviderName
  /** The name that customers know. */
  readonly title: string
  /**
   * Begins a payment, or charges a saved method.
   * @returns its id at the provider, and the page where the customer pays
   */
  open(order: Order): Promise<{ providerId: string; url: string | null }>
  /** @param isForeign true if the charge was not in rubles, so that what arrived has to be found out */
  find(providerId: string, isForeign: boolean): Promise<Found>
  /** Forgets a saved method. Providers without such a call have nothing to do. */
  forget(method: SavedMethod): Promise<void>
  /** Gives a part of a payment back. @returns the id of the refund */
  refund(refund: {
    refundId: string
    payment: { providerId: string; chargeId: string | null }
    /** As in an order. */
    amount: number
    reason: string
    email: string
  }): Promise<string>
}

/** The provider refuses a request, and would refuse a repeat of it. */
export class Refused extends Error {}

/** The month until which a card can be charged, such as 2029-04. */
export function monthOf(year: string | null, month: string | null): string | null {
  return year !== null && month !== null ? `${year}-${month.padStart(2, '0')}` : null
}
