import type { Clock } from '../clock.ts'
import type { Receipt } from '../config.ts'
import { formatMoney } from '../money.ts'
import { NoAnswer } from '../outgoing.ts'
import {
  type Found,
  type FoundMethod,
  monthOf,
  type Order,
  type PaymentProvider,
  type Return,
} from './provider.ts'
import { ask, type Reply } from './requests.ts'

const CURRENCY = 'RUB'
const MOST_RETURNS = 100
const ENDS: Readonly<Record<string, Found['status']>> = { succeeded: 'succeeded', canceled: 'canceled' }
const RETURN_ENDS: Readonly<Record<string, Return['status']>> = { succeeded: 'taken', canceled: 'reversed' }
/** Russian customers read this text on receipts and on the bank's page. */
const ITEM = 'Пополнение баланса'

/**
 * Takes payments through version 3 of YooKassa's API. Its ids are unique, and a repeated key finds the first
 * request.
 */
export class YooKassa implements PaymentProvider {
  readonly name = 'yookassa'
  readonly title = 'YooKassa'
  readonly #url: URL
  readonly #clock: Clock
  readonly #receipt: Receipt | null

  /** @param url with the shop's id and secret key as user and password */
  constructor(url: URL, { clock, receipt }: { clock: Clock; receipt: Receipt | null }) {
    this.#url = url
    this.#clock = clock
    this.#receipt = receipt
  }

  async open({ paymentId, accountId, amount, returnUrl, email, seller, method, savesMethod }: Order) {
    const reply = await this.#ask('payments', {
      key: paymentId,
      body: {
        amount: rubles(amount),
        capture: true,
        ...(method
          ? { payment_method_id: method.providerId }
          : { confirmation: { type: 'redirect', return_url: returnUrl }, save_payment_method: savesMethod }),
        description: `${ITEM}: ${seller}, ${accountId}`.slice(0, 128),
        metadata: { payment_id: paymentId },
        ...this.#receiptOf(email, amount),
      },
    })
    return { providerId: reply.at('id').text, url: reply.at('confirmation', 'confirmation_url').textOrNull }
  }

  async find(providerId: string): Promise<Found> {
    const payment = await this.#ask(`payments/${encodeURIComponent(providerId)}`)
    const status = ENDS[payment.at('status').text] ?? 'pending'
    const returns = status === 'succeeded' ? await this.#refundsOf(providerId) : []
    const [method, card] = [methodOf(payment), cardOf(payment)]
    return { status, ...amountOf(payment), chargeId: null, returns, method, card }
  }

  /** YooKassa has no call that deletes a method; without charges it has no effect. */
  async forget(): Promise<void> {}

  async refund({ refundId, payment, amount, reason, email }: Parameters<PaymentProvider['refund']>[0]) {
    const reply = await this.#ask('refunds', {
      key: refundId,
      body: {
        payment_id: payment.providerId,
        amount: rubles(amount),
        description: reason.slice(0, 250),
        ...this.#receiptOf(email, amount),
      },
    })
    return reply.at('id').text
  }

  async #refundsOf(providerId: string): Promise<Return[]> {
    const query = { payment_id: providerId, limit: String(MOST_RETURNS) }
    const list = await this.#ask(`refunds?${new URLSearchParams(query)}`)
    if (list.at('next_cursor').textOrNull !== null)
      throw new NoAnswer(`the payment ${providerId} has more than ${MOST_RETURNS} refunds`)
    return list.at('items').items.map((refund) => ({
      kind: 'refund',
      providerId: refund.at('id').text,
      ...amountOf(refund),
      status: RETURN_ENDS[refund.at('status').text] ?? 'pending',
    }))
  }

  #receiptOf(email: string, amount: number) {
    if (!this.#receipt) return {}
    const { vatCode, taxSystemCode } = this.#receipt
    const item = {
      description: ITEM,
      quantity: 1,
      amount: rubles(amount),
      vat_code: vatCode,
      payment_mode: 'advance',
      payment_subject: 'payment',
    }
    const system = taxSystemCode === null ? {} : { tax_system_code: taxSystemCode }
    return { receipt: { customer: { email }, items: [item], ...system } }
  }

  #ask(path: string, sent?: { key: string; body: object }): Promise<Reply> {
    const { origin, pathname, username, password } = this.#url
    const shop = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    const headers = { authorization: `Basic ${Buffer.from(shop).toString('base64')}` }
    const url = new URL(`${origin}${pathname.replace(/\/$/, '')}/${path}`)
    const clock = this.#clock
    if (!sent) return ask(url, { method: 'GET', headers, clock })
    return ask(url, {
      method: 'POST',
      clock,
      headers: { ...headers, 'content-type': 'application/json', 'idempotence-key': sent.key },
      body: JSON.stringify(sent.body),
    })
  }
}

function rubles(amount: number) {
  return { value: formatMoney(amount), currency: CURRENCY }
}

/** Returns a text that identifies a card: YooKassa has no fingerprint, and few cards share all these values. */
function cardOf(payment: Reply): string | null {
  const card = payment.at('payment_method', 'card')
  const parts = ['first6', 'last4', 'expiry_year', 'expiry_month'].map((name) => card.at(name).textOrNull)
  return parts.includes(null) ? null : parts.join(' ')
}

/** The method that a payment has saved, which may be a wallet without a card. */
function methodOf(payment: Reply): FoundMethod | null {
  const method = payment.at('payment_method')
  if (!method.at('saved').isTrue) return null
  const card = method.at('card')
  return {
    ...{ providerId: method.at('id').text, customerId: null },
    brand: card.at('card_type').textOrNull ?? method.at('type').text,
    lastFour: card.at('last4').textOrNull,
    expires: monthOf(card.at('expiry_year').textOrNull, card.at('expiry_month').textOrNull),
  }
}

function amountOf(object: Reply) {
  return { amount: object.at('amount', 'value').decimal, currency: object.at('amount', 'currency').text }
}
