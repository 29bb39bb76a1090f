import { AbuseWatch } from '../abuse/watch.ts'
import { findAccount } from '../accounts/accounts.ts'
import { LimitKeeper } from '../accounts/limit-steps.ts'
import { projectNames } from '../accounts/projects.ts'
import { mailAnnouncements } from '../announcements/mailing.ts'
import { type Issuing, issueDue } from '../billing/documents/issuing.ts'
import { rollUpDue } from '../billing/rollup.ts'
import { BillingWorker } from '../billing/worker.ts'
import { expireDue } from '../credits/credits.ts'
import { attemptAll, type Queries } from '../database/database.ts'
import { quotas } from '../features.ts'
import { moveNumbers } from '../hcloud/numbers.ts'
import type { Engine } from '../operations/engine.ts'
import type { PaymentProvider } from '../payments/provider.ts'
import { Stripe } from '../payments/stripe.ts'
import { PaymentWorker } from '../payments/worker.ts'
import { YooKassa } from '../payments/yookassa.ts'
import { tellDeclined } from '../people/letters/top-ups.ts'
import { readersOf } from '../people/membership/members.ts'
import { missingToResume } from '../servers/cover.ts'
import { allServers, billedItems } from '../servers/queries.ts'
import { reprice, repriceAccounts } from '../servers/repricing.ts'
import { suspendAndResume } from '../servers/suspension.ts'
import { warnPeople } from '../servers/warnings.ts'
import { mailingLoops } from './mailing.ts'
import type { Wired } from './options.ts'

const DAY_MS = 24 * 3600_000

/** Queries and actions that features on lower floors borrow from higher ones. */
const lent = { billedItems, allServers, moveNumbers }

/** Wires the parts that charge accounts, book payments, and compare accounts for signs of abuse. */
export function charging(
  options: Wired,
  engine: Engine,
  mailing: { siteUrl: () => string; mailed: () => void },
) {
  const { db, clock, log, catalog, secrets, peers, graceMs = DAY_MS, keepSuspendedMs = null } = options
  const { yookassa = null, stripe = null, receipt = null, keepChargesMs = null } = options
  const providers: PaymentProvider[] = [
    ...(yookassa ? [new YooKassa(yookassa, { clock, receipt })] : []),
    ...(stripe ? [new Stripe(stripe, clock)] : []),
  ]
  const { siteUrl } = mailing
  const hasPage = providers.length > 0 && (options.hasConsole ?? true)
  const billingPage = () => (hasPage ? `${siteUrl()}/billing` : null)
  const failing = (what: string) => (account_id: string, err: unknown) => log.error({ err, account_id }, what)
  const issuing: Issuing = {
    ...{ db, clock, catalog, items: billedItems, customerOf, projectNames },
    onFault: failing('a document could not be issued; trying again in an hour'),
  }
  let notRolledUp = 0
  const billing = new BillingWorker({
    db,
    clock,
    log,
    peers,
    items: billedItems,
    reprice: async (now) => {
      await reprice(db, catalog, now)
      await repriceAccounts(db, catalog, now)
    },
    suspendAndResume: () => suspendAndResume({ db, clock, engine, graceMs, keepSuspendedMs }),
    warn: () => mailPeople({ db, clock, secrets, catalog, keepSuspendedMs, billingPage, ...mailing }),
    expireCredits: () =>
      expireDue({ db, clock, onFault: failing('credits could not expire; trying again in an hour') }),
    issueDocuments: () => issueDue(issuing),
    rollUp: async () => {
      notRolledUp = await rollUpDue({
        ...{ db, clock, keepMs: keepChargesMs, hasDocuments: catalog.operator.seller !== null },
        failedBefore: notRolledUp,
        onFault: failing('charges could not be rolled up; trying again'),
      })
    },
  })
  const payments = new PaymentWorker({
    ...{ db, clock, catalog, secrets, log, peers, providers, ...mailing },
    tellDeclined: (tx, accountId, declined) =>
      tellDeclined(tx, { clock, secrets, siteUrl }, accountId, declined),
  })
  const watching = { db, clock, log, peers }
  const abuse = new AbuseWatch(watching)
  const mailLoops = mailingLoops({ ...watching, secrets, ...mailing }, quotas)
  const limitKeeper = new LimitKeeper({ ...watching, catalog })
  const missing = (accountId: string) => missingToResume(db, accountId)
  const parts = { ...lent, missingToResume: missing, providers, billingPage, customerOf }
  const workers = { abuse, ...mailLoops, limitKeeper, billing, payments }
  return { ...workers, parts: { ...parts, wakePayments: () => payments.wake() } }
}

type Letters = Parameters<typeof warnPeople>[0] & Parameters<typeof mailAnnouncements>[0]

/** Queues warnings and announcements; neither that fails keeps the other from being mailed. */
async function mailPeople(letters: Letters): Promise<void> {
  await attemptAll([() => warnPeople(letters), () => mailAnnouncements(letters)])
}

/** Returns the account's name and address on documents, and the language of its first owner. */
async function customerOf(db: Queries, accountId: string) {
  const { name, email } = await findAccount(db, accountId)
  const [owner] = await readersOf(db, accountId, ['owner'])
  return { name, email, language: owner?.language ?? 'en' }
}
