import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { formatMoney } from '../money.ts'
import { formatIn } from './exchange.ts'
import type { ProviderName } from './provider.ts'
import { providerNames } from './provider.ts'
import type { OperatedPayment, Payment, PaymentMethod } from './schema.ts'
import type { PaymentMethodTable, PaymentReturnTable, PaymentTable } from './tables.ts'

export function paymentView(row: PaymentTable): Payment {
  return {
    payment_id: row.payment_id,
    provider: nameOf(row.provider),
    status: statusOf(row),
    amount_rub: formatMoney(row.amount),
    charge_currency: row.charge_currency,
    charge_amount: chargeAmountOf(row, row.charge_amount),
    refunded_rub: formatMoney(row.refunded + row.disputed),
    url: row.status === 'pending' ? row.url : null,
    is_automatic: row.is_automatic === 1,
    created_at: isoTime(row.created_at),
    booked_at: isoTimeOrNull(row.booked_at),
  }
}

export function paymentMethodView(row: PaymentMethodTable): PaymentMethod {
  const { method_id, brand, last_four, expires } = row
  return {
    ...{ payment_method_id: method_id, brand, last_four, expires },
    provider: nameOf(row.provider),
    created_at: isoTime(row.created_at),
  }
}

export function operatedPaymentView(
  row: PaymentTable,
  returns: readonly PaymentReturnTable[],
): OperatedPayment {
  return {
    account_id: row.account_id,
    ...paymentView(row),
    provider_id: row.provider_id,
    reference: referenceOf(row, row.provider_id),
    problem: row.problem,
    looked_at: isoTimeOrNull(row.looked_at),
    returns: returns.map(({ kind, amount, charge_amount, status, provider_id, reason, created_at }) => ({
      ...{ kind, status, provider_id, reason },
      amount_rub: formatMoney(amount),
      charge_amount: chargeAmountOf(row, charge_amount),
      created_at: isoTime(created_at),
    })),
  }
}

/** Returns the reference of a ledger entry, from the provider's id of the payment, refund or dispute. */
export function referenceOf({ provider }: Pick<PaymentTable, 'provider'>, providerId: string): string
export function referenceOf(row: Pick<PaymentTable, 'provider'>, providerId: string | null): string | null
export function referenceOf({ provider }: Pick<PaymentTable, 'provider'>, providerId: string | null) {
  return providerId === null ? null : `${provider}:${providerId}`
}

function chargeAmountOf({ charge_currency }: PaymentTable, amount: number | null): string | null {
  return charge_currency === null || amount === null ? null : formatIn(charge_currency, amount)
}

function statusOf({ status, disputed, refunded, amount }: PaymentTable): Payment['status'] {
  if (status === 'pending' || status === 'canceled') return status
  if (disputed > 0) return 'disputed'
  return refunded >= amount ? 'refunded' : status
}

function nameOf(provider: string): ProviderName {
  const known = providerNames.find((name) => name === provider)
  if (!known) throw new Error(`the payment provider ${provider} is unknown`)
  return known
}
