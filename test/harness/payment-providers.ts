import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A refund or dispute, as both providers store it. */
interface Back {
  id: string
  kind: 'refund' | 'dispute'
  kopecks: number
  status: string
}

/** A payment as the simulated providers store it. */
export interface PlayedPayment {
  id: string
  /** Stripe's payment intent. */
  intent: string
  provider: 'yookassa' | 'stripe'
  kopecks: number
  currency: string
  status: 'pending' | 'succeeded' | 'canceled'
  returnUrl: string
  backs: Back[]
  /** The charge's entry in the balance at Stripe; null: the money is not exchanged yet. */
  settled: { minor: number; currency: string; exchangeRate: number | null } | null
  /** The provider's mark of the card; null: it names none. */
  card: string | null
  /** The request that opened the payment. */
  sent: Record<string, unknown>
}

/** A payment as a request opens it. */
type Opened = Pick<PlayedPayment, 'provider' | 'kopecks' | 'returnUrl' | 'sent'> & { currency?: string }

const YOOKASSA_CARD = { card_type: 'MasterCard', last4: '4477', expiry_year: '2029', expiry_month: '04' }
const STRIPE_CARD = { brand: 'visa', last4: '4242', exp_year: 2030, exp_month: 7 }
const KEYS = { yookassa: `Basic ${btoa('shop:key')}`, stripe: 'Bearer sk_test' }

/** YooKassa and Stripe as their documentation describes them, on one local server. */
export class PlayedProviders {
  readonly payments = new Map<string, PlayedPayment>()
  /** Saved cards by id, each with the result of charging it. */
  readonly cards = new Map<string, { answer: 'paid' | 'declined' | 'needs its owner' }>()
  readonly #byKey = new Map<string, object>()
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.destroy(Error(String(error))))
  })
  /** The number of requests received. */
  requests = 0
  /** Every request is cut off: before it takes effect (`down`) or after (`lost replies`). */
  fault: 'none' | 'down' | 'lost replies' = 'none'
  /** Called before the reply to a request such as "POST refunds" that took effect; true loses the reply. */
  carriedOut: (request: string) => boolean = () => false

  async listen(port = 0): Promise<void> {
    await once(this.#server.listen(port, '127.0.0.1'), 'listening')
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` // it listens on a port
  }

  /** The service's settings that point to this server. */
  get urls(): { yookassa: URL; stripe: URL } {
    const { host } = new URL(this.origin)
    return { yookassa: new URL(`http://shop:key@${host}/v3`), stripe: new URL(`http://sk_test@${host}/v1`) }
  }

  get last(): PlayedPayment {
    const last = [...this.payments.values()].at(-1)
    if (!last) throw new Error('no payment was opened')
    return last
  }

  back(payment: PlayedPayment, back: Omit<Back, 'id'>): Back {
    const made = { id: `${back.kind}-${randomUUID()}`, ...back }
    payment.backs.push(made)
    return made
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin)
    const body = await text(request)
    const page = /^\/pay\/(.+)$/.exec(url.pathname)?.[1]
    if (page) return this.#page(request, response, this.#find(page))
    this.requests += 1
    if (this.fault === 'down') return void response.destroy()
    const provider = url.pathname.startsWith('/v3/') ? 'yookassa' : 'stripe'
    const isKnown = request.headers.authorization === KEYS[provider]
    const reply = isKnown ? this.#carryOut(provider, request, url, body) : { status: 401, body: {} }
    const [, , resource] = url.pathname.split('/')
    const isLost = this.carriedOut(`${request.method} ${resource}`) || this.fault === 'lost replies'
    if (isLost) return void response.destroy()
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body))
  }

  /** The page where customers pay: a GET shows it, and a POST pays. */
  #page({ method }: IncomingMessage, response: ServerResponse, payment: PlayedPayment): void {
    if (method === 'POST') {
      payment.status = 'succeeded'
      response.writeHead(303, { location: payment.returnUrl }).end()
    } else
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<html lang="en"><title>Bank</title><form method="post"><button>Pay</button></form></html>')
  }

  #carryOut(
    provider: PlayedPayment['provider'],
    { method, headers }: IncomingMessage,
    url: URL,
    body: string,
  ): { status: number; body: object } {
    const key = headers['idempotence-key'] ?? headers['idempotency-key']
    const made = this.#byKey.get(`${provider} ${key}`)
    if (method === 'POST' && made) return { status: 200, body: made }
    const [, , ...path] = url.pathname.split('/')
    const fields =
      provider === 'yookassa' ? JSON.parse(body || '{}') : Object.fromEntries(new URLSearchParams(body))
    try {
      const reply = this.#reply(provider, `${method} ${path.join('/')}`, url.searchParams, fields)
      if (method === 'POST') this.#byKey.set(`${provider} ${key}`, reply)
      return { status: 200, body: reply }
    } catch (error) {
      return { status: 400, body: { error: String(error) } }
    }
  }

  // Each test states the fields that it expects of a request.
  // biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the request that made it
  #reply(provider: PlayedPayment['provider'], call: string, query: URLSearchParams, fields: any): object {
    const opened = { provider, sent: fields }
    if (call === 'POST payments') {
      const { amount, confirmation } = fields
      const kopecks = Number(amount.value.replace('.', ''))
      if (fields.payment_method_id)
        return this.#yookassa(this.#charge({ ...opened, kopecks, returnUrl: '' }, fields.payment_method_id))
      return this.#yookassa(this.#open({ ...opened, kopecks, returnUrl: confirmation.return_url }))
    }
    if (call === 'POST payment_intents') {
      if (fields.off_session !== 'true' || fields.confirm !== 'true' || !fields.customer)
        throw new Error('not a charge of a saved card')
      const [kopecks, currency] = [Number(fields.amount), fields.currency.toUpperCase()]
      const charged = { ...opened, kopecks, currency, returnUrl: '' }
      return this.#intent(this.#charge(charged, fields.payment_method), query)
    }
    const [, forgotten] = /^POST payment_methods\/(.+)\/detach$/.exec(call) ?? []
    if (forgotten) {
      if (!this.cards.delete(forgotten)) throw new Error('no such card')
      return { id: forgotten }
    }
    const [, intent] = /^GET payment_intents\/(.+)$/.exec(call) ?? []
    if (intent) return this.#intent(this.#find(intent), query)
    if (call === 'POST checkout/sessions') {
      const kopecks = Number(fields['line_items[0][price_data][unit_amount]'])
      const currency = fields['line_items[0][price_data][currency]'].toUpperCase()
      return this.#stripe(this.#open({ ...opened, kopecks, currency, returnUrl: fields.success_url }), query)
    }
    const [, id = ''] = /^GET (?:payments|checkout\/sessions)\/(.+)$/.exec(call) ?? []
    if (id)
      return provider === 'yookassa' ? this.#yookassa(this.#find(id)) : this.#stripe(this.#find(id), query)
    const named = this.#find(
      String(
        fields.payment_id ?? fields.payment_intent ?? query.get('payment_id') ?? query.get('payment_intent'),
      ),
    )
    if (call === 'POST refunds') return backView(named, this.#refund(named, fields.amount))
    const kind = call === 'GET disputes' ? 'dispute' : 'refund'
    const items = named.backs.filter((back) => back.kind === kind).map((back) => backView(named, back))
    return provider === 'yookassa'
      ? { type: 'list', items }
      : { object: 'list', data: items, has_more: false }
  }

  #open({ currency = 'RUB', ...given }: Opened): PlayedPayment {
    const ids = { id: `pay-${randomUUID()}`, intent: `pi_${randomUUID()}` }
    const payment: PlayedPayment = {
      ...ids,
      ...given,
      currency,
      settled: null,
      status: 'pending',
      backs: [],
      card: null,
    }
    this.payments.set(payment.id, payment)
    return payment
  }

  /** YooKassa answers a refused charge with a canceled payment, and Stripe with an error. */
  #charge(given: Opened, card: string): PlayedPayment {
    const known = this.cards.get(card)
    if (!known) throw new Error(`no saved card ${card}`)
    if (known.answer !== 'paid' && given.provider === 'stripe') throw new Error(`card_error: ${known.answer}`)
    const payment = this.#open(given)
    payment.status = known.answer === 'paid' ? 'succeeded' : 'canceled'
    return payment
  }

  /** The card that a payment saves, if it was begun so. */
  #savedBy({ id, sent, status }: PlayedPayment): string | null {
    const isAsked = sent.save_payment_method === true || sent['payment_intent_data[setup_future_usage]']
    if (!isAsked || status !== 'succeeded') return null
    const card = `card-${id}`
    if (!this.cards.has(card)) this.cards.set(card, { answer: 'paid' })
    return card
  }

  #find(id: string): PlayedPayment {
    const found = this.payments.get(id) ?? [...this.payments.values()].find(({ intent }) => intent === id)
    if (!found) throw new Error(`no payment ${id}`)
    return found
  }

  #refund(payment: PlayedPayment, amount: { value: string } | string): Back {
    const kopecks = Number(typeof amount === 'string' ? amount : amount.value.replace('.', ''))
    const gone = payment.backs.reduce((sum, back) => sum + back.kopecks, 0)
    if (gone + kopecks > payment.kopecks) throw new Error('more than is left')
    return this.back(payment, { kind: 'refund', kopecks, status: 'succeeded' })
  }

  #yookassa(payment: PlayedPayment): object {
    const url = `${this.origin}/pay/${payment.id}`
    const card = this.#savedBy(payment)
    return {
      id: payment.id,
      status: payment.status,
      amount: rubles(payment),
      ...(payment.returnUrl ? { confirmation: { type: 'redirect', confirmation_url: url } } : {}),
      payment_method: {
        ...{ type: 'bank_card', id: card ?? payment.id, saved: card !== null },
        card: { ...YOOKASSA_CARD, ...(payment.card === null ? {} : { first6: payment.card }) },
      },
    }
  }

  #intent(payment: PlayedPayment, query: URLSearchParams): object {
    const { intent, kopecks, currency, status, card } = payment
    const payment_method = { type: 'card', card: { ...STRIPE_CARD, fingerprint: card } }
    const sums = { amount: kopecks, amount_received: status === 'succeeded' ? kopecks : 0 }
    const latest_charge = chargeView(payment, query, 'latest_charge.balance_transaction')
    return { id: intent, status, ...sums, currency: currency.toLowerCase(), payment_method, latest_charge }
  }

  #stripe(payment: PlayedPayment, query: URLSearchParams): object {
    const { id, intent, kopecks, currency, status } = payment
    const card = this.#savedBy(payment)
    const saved = {
      ...(card ? { setup_future_usage: 'off_session' } : {}),
      payment_method: { type: 'card', id: card, card: { ...STRIPE_CARD, fingerprint: payment.card } },
    }
    const money = { amount_total: kopecks, currency: currency.toLowerCase() }
    const paid = {
      id: intent,
      status: 'succeeded',
      amount_received: kopecks,
      currency: money.currency,
      latest_charge: chargeView(payment, query, 'payment_intent.latest_charge.balance_transaction'),
      ...saved,
    }
    return {
      id,
      customer: card ? `cus_${id}` : null,
      ...money,
      url: status === 'pending' ? `${this.origin}/pay/${id}` : null,
      status: { pending: 'open', succeeded: 'complete', canceled: 'expired' }[status],
      payment_status: status === 'succeeded' ? 'paid' : 'unpaid',
      payment_intent: status === 'succeeded' ? paid : null,
    }
  }
}

/** Stripe sends the charge, and its entry in the balance, only to a client that asks for it. */
function chargeView({ intent, settled }: PlayedPayment, query: URLSearchParams, path: string) {
  if (!query.getAll('expand[]').includes(path)) return `ch_${intent}`
  const entry = settled && {
    ...{ id: `txn_${intent}`, amount: settled.minor, currency: settled.currency.toLowerCase() },
    exchange_rate: settled.exchangeRate,
  }
  return { id: `ch_${intent}`, balance_transaction: entry }
}

function rubles({ kopecks, currency }: { kopecks: number; currency: string }) {
  return { value: (kopecks / 100).toFixed(2), currency }
}

function backView({ provider, currency }: PlayedPayment, { id, kopecks, status }: Back): object {
  return provider === 'yookassa'
    ? { id, status, amount: rubles({ kopecks, currency }) }
    : { id, status, amount: kopecks, currency: currency.toLowerCase() }
}

/** Both providers, until the test ends. */
export async function playedProviders(): Promise<PlayedProviders> {
  const played = new PlayedProviders()
  await played.listen()
  onTestFinished(() => played.close())
  return played
}
