import { expect } from 'vitest'
import { operatorScopes } from '../../../../api/http/contract/auth.ts'
import { createOperatorToken } from '../../../../api/operator/tokens.ts'
import type { AppOptions } from '../../../../api/wiring/options.ts'
import { type Call, type TestApp, testApp } from '../../../harness/app.ts'
import {
  type PlayedPayment,
  type PlayedProviders,
  playedProviders,
} from '../../../harness/payment-providers.ts'

const YEAR_MS = 365 * 24 * 3600_000
export const PROVIDERS = ['yookassa', 'stripe'] as const
export const METHODS = '/account/payment_methods'

type Notify = ((payment: PlayedPayment) => Promise<void>) & {
  /** @returns the status of the reply */
  raw: (provider: string, body: object) => Promise<number>
}

interface Paid {
  t: TestApp
  played: PlayedProviders
  /** Turns the clock, and asks the providers about all payments that are due. */
  look: (ms?: number) => Promise<void>
  notify: Notify
  /** Calls /v1 with an operator's token. */
  shop: Call
}

/** The application with both providers, played by a local server. */
export async function withPayments(options: Parameters<typeof testApp>[0] = {}): Promise<Paid> {
  const played = await playedProviders()
  const t = await testApp({ balance: '0', ...played.urls, ...options })
  const look = async (ms = 15_000) => {
    t.clock.advance(ms)
    while ((await t.app.payments.look()) > 0);
  }
  const raw = async (provider: string, payload: object) =>
    (await t.app.http.inject({ method: 'POST', url: `/payments/${provider}/notify`, payload })).statusCode
  const notify = async ({ provider, id, intent }: PlayedPayment) =>
    void (await raw(
      provider,
      provider === 'yookassa'
        ? { type: 'notification', event: 'payment.succeeded', object: { id, status: 'succeeded' } }
        : { id: 'evt_1', type: 'charge.refunded', data: { object: { id, payment_intent: intent } } },
    ))
  const year = { name: 'shop', cidrs: ['127.0.0.0/8'], createdBy: 'root', expiresAt: t.clock.now() + YEAR_MS }
  const { value } = await createOperatorToken(t.db, t.clock, { ...year, scopes: operatorScopes })
  return { shop: t.callAs(value), t, played, look, notify: Object.assign(notify, { raw }) }
}

/** The application, and a method that the account has saved by a payment of 500 rubles. */
export async function withMethod(provider: (typeof PROVIDERS)[number], options: Partial<AppOptions> = {}) {
  const paid = await withPayments(options)
  const { t, played, look } = paid
  await t.call('POST', '/account/payments', { amount_rub: '500', provider, save_method: true })
  expect((await t.call('GET', METHODS)).body.total).toBe(0)
  played.last.status = 'succeeded'
  await look()
  const { items } = (await t.call('GET', METHODS)).body
  const charge = (amount_rub = '300') =>
    t.call('POST', '/account/payments', { amount_rub, payment_method_id: items[0].payment_method_id })
  const balance = async () => (await t.call('GET', '/account/balance')).body.balance
  const [card] = [...played.cards.values()]
  if (!card) throw new Error('no card was saved')
  return { ...paid, items, charge, balance, card, path: `${METHODS}/${items[0].payment_method_id}` }
}
