import type { Chance } from './chance.ts'
import type { Faults } from './faults.ts'
import type { Scheduler } from './scheduler.ts'

const HOUR = 3600_000
/** The provider forgets keys after a day. */
const KEY_LIVES_MS = 24 * HOUR

/** The product's rows of payments, for comparison with the provider's. */
export const PAYMENTS = `SELECT payment_id, provider_id, status, amount, refunded FROM payments`

interface PaymentRow {
  payment_id: string
  provider_id: string | null
  status: string
  amount: number
  refunded: number
}

/** A payment in the provider's books. */
interface Charge {
  id: string
  /** The product's own id, which it sends along. */
  paymentId: string
  kopecks: number
  status: 'pending' | 'succeeded' | 'canceled'
  savesMethod: boolean
  method: string | null
  refunds: { id: string; kopecks: number }[]
  openedAt: number
}

interface Sent {
  method: string
  headers: Record<string, string>
  body?: string
  signal?: AbortSignal
}

/** Plays the provider of payments: YooKassa, as its documentation describes it. */
export class Till {
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  readonly #charges = new Map<string, Charge>()
  readonly #byKey = new Map<string, { reply: () => object; at: number }>()
  readonly #broken: (what: string) => void
  #made = 0
  /** The provider does not answer before this time. */
  awayUntil = 0

  constructor(scheduler: Scheduler, faults: Faults, broken: (what: string) => void) {
    this.#scheduler = scheduler
    this.#faults = faults
    this.#broken = broken
  }

  /** Stands in for fetch. */
  readonly fetch = async (href: string, options: object): Promise<Response> => {
    const sent = options as Sent // the service's own
    const { actor } = this.#scheduler
    await this.#scheduler.cross(actor, 'provider', 20)
    const isAway = this.#scheduler.elapsed() < this.awayUntil
    if (isAway || sent.signal?.aborted || this.#faults.happens('provider_fails'))
      throw new Error('the provider was not reached')
    const reply = this.#carryOut(new URL(href), sent)
    await this.#scheduler.cross(actor, 'answer of provider', 5)
    if (this.#faults.happens('provider_answer_lost')) throw new Error('the answer of the provider was lost')
    return Response.json(reply ?? { type: 'error' }, { status: reply ? 200 : 400 })
  }

  /** Lists the ids of all payments. */
  get ids(): string[] {
    return [...this.#charges.keys()]
  }

  /** Lets a customer pay, or give up, on the page of a payment. @returns the provider's id */
  visit(page: string, chance: Chance): string {
    const id = page.split('/').at(-1) ?? ''
    const charge = this.#charges.get(id)
    if (charge?.status === 'pending' && !chance.is(0.1))
      charge.status = chance.is(0.85) ? 'succeeded' : 'canceled'
    return id
  }

  /** Refunds a part of a payment, as the operator can on the provider's own pages. @returns its id */
  payBack(chance: Chance): string | undefined {
    const charge = chance.pick([...this.#charges.values()].filter(({ status }) => status === 'succeeded'))
    if (charge) this.#refund(charge, Math.min(5_000, left(charge)))
    return charge?.id
  }

  /** Compares the rows of all payments with the provider's books. */
  broken(rows: readonly PaymentRow[]): string[] {
    const byId = new Map(rows.map((row) => [row.payment_id, row]))
    return [...this.#charges.values()].flatMap((charge) => {
      this.#expire(charge)
      const { id, paymentId, kopecks, status } = charge
      const row = byId.get(paymentId)
      const told = `${id} is ${status} at the provider, and ${row?.status} here`
      if (!row) return [`the product knows each payment of the provider: ${told}`]
      // The operator handles a payment whose replies were lost for a day.
      if (row.provider_id === null)
        return ['held', 'canceled'].includes(row.status) ? [] : [`a payment ends: ${told}`]
      if (row.provider_id !== id) return []
      if (row.status === 'held') return []
      if (row.status !== status) return [`a payment has the status that the provider reports: ${told}`]
      const back = charge.refunds.reduce((sum, refund) => sum + refund.kopecks, 0)
      if (status !== 'succeeded' || (row.amount === kopecks * 100 && row.refunded === back * 100)) return []
      return [
        `a payment is booked as it was paid: ${id} ${kopecks} - ${back}, here ${row.amount} - ${row.refunded}`,
      ]
    })
  }

  #carryOut(url: URL, { method, headers, body = '{}' }: Sent): object | null {
    const [resource = '', id = ''] = url.pathname.replace(/^\/v3\//, '').split('/')
    if (method !== 'POST') return resource === 'payments' ? this.#show(id) : this.#refundsOf(url)
    const key = headers['idempotence-key'] ?? ''
    const known = this.#byKey.get(key)
    const now = this.#scheduler.elapsed()
    if (known && now - known.at < KEY_LIVES_MS) return known.reply()
    const fields = JSON.parse(body)
    const reply = resource === 'payments' ? this.#open(fields) : this.#payPart(fields)
    if (reply) this.#byKey.set(key, { reply, at: now })
    return reply?.() ?? null
  }

  // The product's own request, which a test of its own describes.
  // biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the history
  #open(fields: any): (() => object) | null {
    const method: string | null = fields.payment_method_id ?? null
    const paymentId: string = fields.metadata.payment_id
    if ([...this.#charges.values()].some((charge) => charge.paymentId === paymentId))
      this.#broken(`a payment is opened once: ${paymentId}`)
    const charge: Charge = {
      ...{ id: this.#nextId('pay'), paymentId, kopecks: kopecksOf(fields), method },
      // A saved card is charged at once, or refused.
      status: method === null ? 'pending' : this.#made % 4 === 0 ? 'canceled' : 'succeeded',
      savesMethod: fields.save_payment_method === true,
      ...{ refunds: [], openedAt: this.#scheduler.elapsed() },
    }
    this.#charges.set(charge.id, charge)
    return () => this.#view(charge)
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  #payPart(fields: any): (() => object) | null {
    const charge = this.#charges.get(fields.payment_id)
    const kopecks = kopecksOf(fields)
    if (charge?.status !== 'succeeded' || kopecks > left(charge)) return null
    const refund = this.#refund(charge, kopecks)
    return () => refundView(refund)
  }

  #refund(charge: Charge, kopecks: number) {
    const refund = { id: this.#nextId('refund'), kopecks }
    if (kopecks > 0) charge.refunds.push(refund)
    return refund
  }

  #show(id: string): object | null {
    const charge = this.#charges.get(id)
    return charge ? this.#view(charge) : null
  }

  #refundsOf(url: URL): object | null {
    const charge = this.#charges.get(url.searchParams.get('payment_id') ?? '')
    return charge ? { type: 'list', items: charge.refunds.map(refundView) } : null
  }

  /** Closes a page on which nobody pays within an hour. */
  #expire(charge: Charge): void {
    if (charge.status === 'pending' && this.#scheduler.elapsed() - charge.openedAt > HOUR)
      charge.status = 'canceled'
  }

  #view(charge: Charge): object {
    this.#expire(charge)
    const { id, status, kopecks, savesMethod, method } = charge
    const isSaved = savesMethod && status === 'succeeded'
    const page = { type: 'redirect', confirmation_url: `https://pay.example.com/${id}` }
    return {
      ...{ id, status, amount: amountOf(kopecks) },
      ...(method === null ? { confirmation: page } : {}),
      payment_method: { type: 'bank_card', id: isSaved ? `card-${id}` : id, saved: isSaved, card: CARD },
    }
  }

  #nextId(kind: string): string {
    this.#made += 1
    return `${kind}-${this.#made}`
  }
}

const CARD = { card_type: 'Mir', first6: '220000', last4: '4477', expiry_year: '2099', expiry_month: '04' }

const left = ({ kopecks, refunds }: Charge) =>
  refunds.reduce((rest, refund) => rest - refund.kopecks, kopecks)
const amountOf = (kopecks: number) => ({ value: (kopecks / 100).toFixed(2), currency: 'RUB' })
const kopecksOf = ({ amount }: { amount: { value: string } }) => Number(amount.value.replace('.', ''))

function refundView({ id, kopecks }: Charge['refunds'][number]): object {
  return { id, status: 'succeeded', amount: amountOf(kopecks) }
}
