import type { Clock } from '../clock.ts'
import { UNITS_PER_KOPECK, wholeTimes } from '../money.ts'
import { NoAnswer } from '../outgoing.ts'
import type { Found, Order, PaymentProvider, Return } from './provider.ts'
import { ask, type Reply } from './requests.ts'

/** The version of the API whose fields are read here. */
const VERSION = '2024-06-20'
const CURRENCY = 'rub'
const MOST_RETURNS = 100
/** An intent whose session is complete has failed in these: a delayed bank transfer did not arrive. */
const FAILED = ['requires_payment_method', 'canceled']
const REFUND_ENDS: Readonly<Record<string, Return['status']>> = {
  succeeded: 'taken',
  failed: 'reversed',
  canceled: 'reversed',
}
/** The money is gone from the moment when a dispute is opened until it is won; inquiries take none. */
const DISPUTE_ENDS: Readonly<Record<string, Return['status']>> = {
  needs_response: 'taken',
  under_review: 'taken',
  lost: 'taken',
  won: 'reversed',
}

/** Stripe Checkout, by Stripe's documented HTTP protocol. No card number reaches Berth. */
export class Stripe implements PaymentProvider {
  readonly name = 'stripe'
  readonly title = 'Stripe'
  readonly #url: URL
  readonly #clock: Clock

  /** @param url with the secret key as user */
  constructor(url: URL, clock: Clock) {
    this.#url = url
    this.#clock = clock
  }

  async open({ paymentId, accountId, amount, returnUrl, email, seller }: Order) {
    const session = await this.#ask('checkout/sessions', {
      key: paymentId,
      fields: {
        mode: 'payment',
        client_reference_id: paymentId,
        customer_email: email,
        success_url: returnUrl,
        cancel_url: returnUrl,
        'line_items[0][quantity]': '1',
        'line_items[0][price_data][currency]': CURRENCY,
        'line_items[0][price_data][unit_amount]': kopecks(amount),
        'line_items[0][price_data][product_data][name]': `Top-up: ${seller}, ${accountId}`,
        'payment_intent_data[metadata][payment_id]': paymentId,
      },
    })
    return { providerId: session.at('id').text, url: session.at('url').textOrNull }
  }

  async find(providerId: string): Promise<Found> {
    const session = await this.#ask(
      `checkout/sessions/${encodeURIComponent(providerId)}?expand[]=payment_intent`,
    )
    const intent = session.at('payment_intent')
    const status = statusOf(session)
    if (status !== 'succeeded') {
      const amount = session.at('amount_total').minor
      return { status, amount, currency: currencyOf(session), chargeId: null, returns: [] }
    }
    const chargeId = intent.at('id').text
    const [refunds, disputes] = await Promise.all([
      this.#returnsOf('refund', chargeId, REFUND_ENDS),
      this.#returnsOf('dispute', chargeId, DISPUTE_ENDS),
    ])
    const amount = intent.at('amount_received').minor
    return { status, amount, currency: currencyOf(intent), chargeId, returns: [...refunds, ...disputes] }
  }

  async refund({ refundId, payment, amount }: Parameters<PaymentProvider['refund']>[0]) {
    const refund = await this.#ask('refunds', {
      key: refundId,
      fields: {
        payment_intent: payment.chargeId ?? '',
        amount: kopecks(amount),
        'metadata[refund_id]': refundId,
      },
    })
    return refund.at('id').text
  }

  async #returnsOf(
    kind: Return['kind'],
    chargeId: string,
    ends: Readonly<Record<string, Return['status']>>,
  ): Promise<Return[]> {
    const query = new URLSearchParams({ payment_intent: chargeId, limit: String(MOST_RETURNS) })
    const list = await this.#ask(`${kind}s?${query}`)
    if (list.at('has_more').isTrue)
      throw new NoAnswer(`the payment ${chargeId} has more than ${MOST_RETURNS} ${kind}s`)
    return list.at('data').items.map((item) => ({
      kind,
      providerId: item.at('id').text,
      amount: item.at('amount').minor,
      currency: currencyOf(item),
      status: ends[item.at('status').text] ?? 'pending',
    }))
  }

  #ask(path: string, sent?: { key: string; fields: Readonly<Record<string, string>> }): Promise<Reply> {
    const { origin, pathname, username } = this.#url
    const key = decodeURIComponent(username)
    const headers = { authorization: `Bearer ${key}`, 'stripe-version': VERSION }
    const url = new URL(`${origin}${pathname.replace(/\/$/, '')}/${path}`)
    const clock = this.#clock
    if (!sent) return ask(url, { method: 'GET', headers, clock })
    return ask(url, {
      method: 'POST',
      clock,
      headers: {
        ...headers,
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': sent.key,
      },
      body: new URLSearchParams(sent.fields).toString(),
    })
  }
}

function statusOf(session: Reply): Found['status'] {
  const [status, paid] = [session.at('status').text, session.at('payment_status').text]
  if (paid === 'paid') return 'succeeded'
  if (status === 'expired') return 'canceled'
  const intent = session.at('payment_intent', 'status').textOrNull
  return status === 'complete' && intent !== null && FAILED.includes(intent) ? 'canceled' : 'pending'
}

function currencyOf(object: Reply): string {
  return object.at('currency').text.toUpperCase()
}

function kopecks(amount: number): string {
  return String(wholeTimes(amount, UNITS_PER_KOPECK))
}
