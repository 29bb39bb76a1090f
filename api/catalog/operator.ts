import type { SecondCurrency } from './currencies.ts'

/** The hoster as customers see it. */
export interface Operator {
  name: string | null
  /** An e-mail address, or the address of a page. */
  contact: string | null
  /** The page where customers pay, with {account_id} in place of their account. */
  paymentUrl: string | null
  logoUrl: string | null
  /** The terms that people accept when they sign up. */
  terms: { url: string; version: string } | null
  /** A currency for approximate sums beside rubles; null: rubles only. */
  secondCurrency: SecondCurrency | null
  /** The legal entity that issues documents; null: none are issued. */
  seller: Seller | null
}

export interface Seller {
  name: string
  address: string
  /** Documents are numbered for each tax id. */
  taxId: string
  /** The start of the first month that has documents. */
  firstMonth: number
  numberPrefix: string
  vat: Vat | null
  /** The account that bank transfers go to; null: none are offered. */
  bank: Bank | null
}

interface Bank {
  name: string
  account: string
  bic: string
  correspondentAccount: string | null
}

export interface Vat {
  /** Hundredths of a percent. */
  rate: number
  /** True if the prices of the catalogue include it. */
  isIncluded: boolean
}

/** The part of the catalogue in force that describes the hoster. */
export interface Named {
  operator: Operator
}

/**
 * The page where an account is topped up: the operator's own, else the console's.
 * @param billingPage the console's page, if payments can be made there
 */
export function topUpUrl({ operator }: Named, accountId: string, billingPage: string | null): string | null {
  return (
    operator.paymentUrl?.replaceAll('{account_id}', accountId) ??
    (billingPage && `${billingPage}?account=${accountId}`)
  )
}

/**
 * Returns a sentence to end the message of an error that only the operator can resolve; null if there is
 * nothing to add.
 */
export function adviceOn(
  { operator }: Named,
  { code, accountId, billingPage }: { code: string; accountId: string | null; billingPage: string | null },
): string | null {
  const { contact } = operator
  if (code === 'insufficient_balance' && accountId !== null) {
    const url = topUpUrl({ operator }, accountId, billingPage)
    if (url !== null) return `Pay at ${url}.`
    return contact && `To pay, contact ${contact}.`
  }
  const isTheirs = ['account_suspended', 'quota_exceeded', 'sign_up_closed'].includes(code)
  return isTheirs && contact !== null ? `Contact: ${contact}.` : null
}
