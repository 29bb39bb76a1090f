import { BillingWorker } from '../billing/worker.ts'
import type { Engine } from '../operations/engine.ts'
import type { PaymentProvider } from '../payments/provider.ts'
import { Stripe } from '../payments/stripe.ts'
import { PaymentWorker } from '../payments/worker.ts'
import { YooKassa } from '../payments/yookassa.ts'
import { missingToResume } from '../servers/commitment.ts'
import { allServers, billedItems } from '../servers/queries.ts'
import { reprice } from '../servers/repricing.ts'
import { suspendAndResume } from '../servers/suspension.ts'
import { warnPeople } from '../servers/warnings.ts'
import type { Wired } from './options.ts'

const DAY_MS = 24 * 3600_000

/** Wires the parts that charge accounts and book payments. */
export function charging(
  options: Wired,
  engine: Engine,
  mailing: { siteUrl: () => string; mailed: () => void },
) {
  const { db, clock, log, catalog, secrets, peers, graceMs = DAY_MS, keepSuspendedMs = null } = options
  const { yookassa = null, stripe = null, receipt = null } = options
  const providers: PaymentProvider[] = [
    ...(yookassa ? [new YooKassa(yookassa, { clock, receipt })] : []),
    ...(stripe ? [new Stripe(stripe, clock)] : []),
  ]
  const { siteUrl } = mailing
  const hasPage = providers.length > 0 && (options.hasConsole ?? true)
  const billingPage = () => (hasPage ? `${siteUrl()}/billing` : null)
  const billing = new BillingWorker({
    db,
    clock,
    log,
    peers,
    items: billedItems,
    reprice: (now) => reprice(db, catalog, now),
    suspendAndResume: () => suspendAndResume({ db, clock, engine, graceMs, keepSuspendedMs }),
    warn: () => warnPeople({ db, clock, secrets, catalog, keepSuspendedMs, billingPage, ...mailing }),
  })
  const payments = new PaymentWorker({ db, clock, catalog, log, peers, providers, siteUrl })
  const missing = (accountId: string) => missingToResume(db, accountId)
  const parts = { billedItems, allServers, missingToResume: missing, providers, billingPage }
  return { billing, payments, parts: { ...parts, wakePayments: () => payments.wake() } }
}
