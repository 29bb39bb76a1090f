import type { Clock } from '../clock.ts'
import { UNITS_PER_KOPECK, wholeTimes } from '../money.ts'
import { NoAnswer } from '../outgoing.ts'
import {
  type Found,
  type FoundMethod,
  monthOf,
  type Order,
  type PaymentProvider,
  type Return,
  type SavedMethod,
} from './provider.ts'
import { ask, type Reply } from './requests.ts'

/** The version of Stripe's API whose fields are read here. */
const VERSION = '2024-06-20'
/** Payments with a saved card are intents, without a session. */
const INTENT = 'pi_'
const MOST_RETURNS = 100
/** These statuses of an intent with a complete session mean failure: a delayed bank transfer did not arrive. */
const FAILED = ['requires_payment_method', 'canceled']
const REFUND_ENDS: Readonly<Record<string, Return['status']>> = {
  succeeded: 'taken',
  failed: 'reversed',
  canceled: 'reversed',
}
/** A dispute takes the money when it is opened, until it is won; inquiries take none. */
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

  async open(order: Order) {
    const { paymentId, accountId, amount, currency, returnUrl, email, seller, method, savesMethod } = order
    if (method) return this.#charge(order, method)
    const saving = {
      customer_creation: 'always',
      'payment_intent_data[setup_future_usage]': 'off_session',
    }
    const session = await this.#ask('checkout/sessions', {
      key: paymentId,
      fields: {
        mode: 'payment',
        client_reference_id: paymentId,
        customer_email: email,
        success_url: returnUrl,
        cancel_url: returnUrl,
        'line_items[0][quantity]': '1',
        'line_items[0][price_data][currency]': currency.toLowerCase(),
        'line_items[0][price_data][unit_amount]': coins(amount),
        'line_items[0][price_data][product_data][name]': `Top-up: ${seller}, ${accountId}`,
        'payment_intent_data[metadata][payment_id]': paymentId,
        ...(savesMethod ? saving : {}),
      },
    })
    return { providerId: session.at('id').text, url: session.at('url').textOrNull }
  }

  /** Charges a card without its owner. Stripe refuses the request if the bank declines, or asks for its owner. */
  async #charge({ paymentId, accountId, amount, currency }: Order, method: SavedMethod) {
    const intent = await this.#ask('payment_intents', {
      key: paymentId,
      fields: {
        ...{ amount: coins(amount), currency: currency.toLowerCase() },
        ...{ confirm: 'true', off_session: 'true' },
        ...{ customer: method.customerId ?? '', payment_method: method.providerId },
        description: `Top-up: ${accountId}`,
        'metadata[payment_id]': paymentId,
      },
    })
    return { providerId: intent.at('id').text, url: null }
  }

  async forget({ providerId }: SavedMethod): Promise<void> {
    const path = `payment_methods/${encodeURIComponent(providerId)}/detach`
    await this.#ask(path, { key: `detach-${providerId}`, fields: {} })
  }

  async find(providerId: string, isForeign: boolean): Promise<Found> {
    if (providerId.startsWith(INTENT)) {
      const query = expanding('', isForeign)
      const intent = await this.#ask(`payment_intents/${encodeURIComponent(providerId)}?${query}`)
      return this.#found(intentStatus(intent), intent, null)
    }
    const query = expanding('payment_intent.', isForeign)
    const session = await this.#ask(`checkout/sessions/${encodeURIComponent(providerId)}?${query}`)
    const intent = session.at('payment_intent')
    const status = statusOf(session)
    if (status !== 'succeeded') {
      const amount = session.at('amount_total').minor
      return { status, amount, currency: currencyOf(session), chargeId: null, returns: [], method: null }
    }
    return this.#found(status, intent, methodOf(session))
  }

  async #found(status: Found['status'], intent: Reply, method: FoundMethod | null): Promise<Found> {
    const chargeId = intent.at('id').text
    const [refunds, disputes] = await Promise.all([
      this.#returnsOf('refund', chargeId, REFUND_ENDS),
      this.#returnsOf('dispute', chargeId, DISPUTE_ENDS),
    ])
    const amount = intent.at(status === 'succeeded' ? 'amount_received' : 'amount').minor
    const returns = [...refunds, ...disputes]
    const card = intent.at('payment_method', 'card', 'fingerprint').textOrNull
    const settled = settledOf(intent)
    return { status, amount, currency: currencyOf(intent), chargeId, settled, returns, method, card }
  }

  async refund({ refundId, payment, amount }: Parameters<PaymentProvider['refund']>[0]) {
    const refund = await this.#ask('refunds', {
      key: refundId,
      fields: {
        payment_intent: payment.chargeId ?? '',
        amount: coins(amount),
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

function intentStatus(intent: Reply): Found['status'] {
  const status = intent.at('status').text
  if (status === 'succeeded') return 'succeeded'
  return FAILED.includes(status) ? 'canceled' : 'pending'
}

/** The card that a session has saved for charges without its owner. */
function methodOf(session: Reply): FoundMethod | null {
  const [customerId, intent] = [session.at('customer').textOrNull, session.at('payment_intent')]
  if (customerId === null || intent.at('setup_future_usage').textOrNull !== 'off_session') return null
  const method = intent.at('payment_method')
  const card = method.at('card')
  return {
    ...{ providerId: method.at('id').text, customerId },
    brand: card.at('brand').textOrNull ?? method.at('type').text,
    lastFour: card.at('last4').textOrNull,
    expires: monthOf(card.at('exp_year').wholeOrNull, card.at('exp_month').wholeOrNull),
  }
}

/**
 * Names the parts of a reply that Stripe should expand.
 * @param isForeign true to expand the charge's balance transaction: payments in rubles need none, and a
 * restricted key may lack the right
 */
function expanding(intent: string, isForeign: boolean): string {
  const parts = ['payment_method', ...(isForeign ? ['latest_charge.balance_transaction'] : [])]
  return parts.map((part) => `expand[]=${intent}${part}`).join('&')
}

/**
 * Returns the gross sum that a charge has added to the balance at Stripe; null until its balance transaction
 * exists.
 */
function settledOf(intent: Reply): NonNullable<Found['settled']> | null {
  const entry = intent.at('latest_charge', 'balance_transaction')
  return entry.at('id').textOrNull === null
    ? null
    : { amount: entry.at('amount').minor, currency: currencyOf(entry) }
}

function currencyOf(object: Reply): string {
  return object.at('currency').text.toUpperCase()
}

/** A whole number of kopecks, or of the smallest coins of another currency. */
function coins(amount: number): string {
  return String(wholeTimes(amount, UNITS_PER_KOPECK))
}
