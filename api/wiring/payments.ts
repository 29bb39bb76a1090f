import type { Paying } from '../payments/payments.ts'
import type { PaymentProvider } from '../payments/provider.ts'
import { Stripe } from '../payments/stripe.ts'
import { PaymentWorker } from '../payments/worker.ts'
import { YooKassa } from '../payments/yookassa.ts'
import type { Wired } from './options.ts'

/** Wires the payment providers that are set up, and what asks them. */
export function paying(options: Wired, { siteUrl }: Pick<Paying, 'siteUrl'>) {
  const { db, clock, catalog, log, peers, yookassa = null, stripe = null, receipt = null } = options
  const providers: PaymentProvider[] = [
    ...(yookassa ? [new YooKassa(yookassa, receipt)] : []),
    ...(stripe ? [new Stripe(stripe)] : []),
  ]
  const payments = new PaymentWorker({ db, clock, catalog, log, peers, providers, siteUrl })
  return { payments, parts: { providers, wakePayments: () => payments.wake() } }
}
