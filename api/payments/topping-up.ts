import type { FastifyBaseLogger as Logger } from 'fastify'
import { v7 as uuid } from 'uuid'
import { lockAccount } from '../accounts/accounts.ts'
import { activeAccounts } from '../accounts/status.ts'
import { monthStart } from '../billing/accrual.ts'
import { belowTopUpLine, postponeTopUp, setTopUpLine, takeFall } from '../billing/standing.ts'
import { isLockFailure, isUnavailable, type Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { NoAnswer } from '../outgoing.ts'
import { chargedSince, findAutoTopUp, openAutomatic } from './auto-top-up.ts'
import { chargeOf } from './exchange.ts'
import { OPENING_MS, openPayment, type Paying } from './payments.ts'
import { MOST_DECLINES } from './schema.ts'
import type { AutoTopUpTable, PaymentTable } from './tables.ts'

const HOUR = 3600_000
/** The pauses after the first and the second payment in a row that was declined. */
const PAUSES_MS = [HOUR, 24 * HOUR]
const AT_ONCE = 16

/** A declined automatic payment, as the mail describes it. */
export interface Declined {
  amount: number
  /** The time of the next try; null if automatic top-ups are off from here on. */
  nextAt: number | null
}

export interface ToppingUp extends Paying {
  log: Logger
  /** Queues the mails about a declined payment, in the transaction that notes it. */
  tellDeclined: (tx: Queries, accountId: string, declined: Declined) => Promise<void>
  mailed: () => void
}

/**
 * Records the results of automatic payments, and begins payments for accounts whose balance has fallen below
 * their threshold. An account that fails keeps no other from either.
 * @param failedBefore the number of results that could not be recorded last time: others come in addition to them
 * @returns whether there may be more to do, and the number of results that could not be recorded
 */
export async function topUpAccounts(
  options: ToppingUp,
  failedBefore: number,
): Promise<{ hasMore: boolean; failed: number }> {
  const { db, clock, mailed } = options
  const atMost = AT_ONCE + failedBefore
  const payments = await ended.all(db, { atMost })
  let failed = 0
  for (const payment of payments)
    try {
      await noteEnd(options, payment)
    } catch (error) {
      if (isUnavailable(error) && !isLockFailure(error)) throw error
      failed += 1
      const { account_id, payment_id } = payment
      options.log.error({ err: error, account_id, payment_id }, 'an automatic payment could not be recorded')
    }
  if (payments.some(({ status }) => status === 'canceled')) mailed()
  const below = await fallen.all(db, { now: clock.now() })
  await Promise.all(below.map(({ account_id }) => topUp(options, account_id)))
  return { hasMore: below.length === AT_ONCE || payments.length === atMost, failed }
}

/** Finds the ended automatic payments whose results were not recorded. */
const ended = prepared((db, { atMost }: { atMost: number }) =>
  db
    .selectFrom('auto_top_ups')
    .innerJoin('payments', 'payments.payment_id', 'auto_top_ups.payment_id')
    .select(['payments.account_id', 'payments.payment_id', 'payments.status', 'payments.amount'])
    .where('payments.status', '<>', 'pending')
    .limit(atMost),
)

const fallen = prepared((db, { now }: { now: number }) => belowTopUpLine(db, now).limit(AT_ONCE))

/**
 * Records the result of an automatic payment. A declined one is tried again after a pause, and the last in a
 * row turns automatic top-ups off.
 */
async function noteEnd(
  { db, clock, tellDeclined }: ToppingUp,
  payment: Pick<PaymentTable, 'account_id' | 'payment_id' | 'status' | 'amount'>,
): Promise<void> {
  const { account_id: accountId, payment_id, status, amount } = payment
  await db.transaction().execute(async (tx) => {
    await lockAccount(tx, accountId)
    const row = await tx
      .updateTable('auto_top_ups')
      .set((eb) => ({
        payment_id: null,
        declines: status === 'canceled' ? eb('declines', '+', 1) : 0,
      }))
      .where('account_id', '=', accountId)
      .where('payment_id', '=', payment_id)
      .returningAll()
      .executeTakeFirst()
    if (!row || status !== 'canceled') return
    const nextAt = row.off_reason === null ? await afterDecline(tx, row, clock.now()) : null
    await tellDeclined(tx, accountId, { amount, nextAt })
  })
}

/** @returns the time of the next try; null if there is none */
async function afterDecline(
  tx: Queries,
  { account_id, declines }: AutoTopUpTable,
  now: number,
): Promise<number | null> {
  const pauseMs = PAUSES_MS[declines - 1]
  if (declines < MOST_DECLINES && pauseMs !== undefined) {
    await postponeTopUp(tx, account_id, now + pauseMs)
    return now + pauseMs
  }
  const off = { off_reason: 'declined', updated_at: now } as const
  await tx.updateTable('auto_top_ups').set(off).where('account_id', '=', account_id).execute()
  await setTopUpLine(tx, account_id, null)
  return null
}

/**
 * Begins the automatic payment of an account. If the provider does not answer, the worker opens the payment
 * later. An account that fails is tried again in an hour.
 */
async function topUp(options: ToppingUp, accountId: string): Promise<void> {
  const { db, clock, log } = options
  try {
    const payment = await begin(options, accountId)
    if (payment) await openPayment(options, payment, true)
  } catch (error) {
    if (error instanceof NoAnswer || isLockFailure(error)) return
    log.error(
      { err: error, account_id: accountId },
      'an account could not be topped up; trying again in an hour',
    )
    await postponeTopUp(db, accountId, clock.now() + HOUR)
  }
}

/** Writes the row of an automatic payment, if one may be begun. */
function begin(options: ToppingUp, accountId: string): Promise<PaymentTable | null> {
  const { db, clock, providers } = options
  return db.transaction().execute(async (tx) => {
    await lockAccount(tx, accountId)
    const now = clock.now()
    if (!(await takeFall(tx, accountId, now))) return null
    const settings = await findAutoTopUp(tx, accountId)
    // While a payment is open, its result decides what happens next.
    if (!settings || (await openAutomatic(tx, accountId))) return null
    const provider = await providerNameOf(tx, settings)
    const isActive = await activeAccounts(tx).where('account_id', '=', accountId).executeTakeFirst()
    if (!isActive || !providers.some(({ name }) => name === provider)) {
      await postponeTopUp(tx, accountId, now + HOUR)
      return null
    }
    const charged = await chargedSince(tx, accountId, monthStart(now))
    if (charged + settings.amount > settings.monthly_limit) {
      await postponeTopUp(tx, accountId, monthStart(now, 1))
      return null
    }
    const row = automatic(options, settings, provider)
    await tx.insertInto('payments').values(row).execute()
    const { payment_id } = row
    await tx.updateTable('auto_top_ups').set({ payment_id }).where('account_id', '=', accountId).execute()
    return row
  })
}

async function providerNameOf(tx: Queries, { method_id }: AutoTopUpTable): Promise<string> {
  const found = await tx
    .selectFrom('payment_methods')
    .select('provider')
    .where('method_id', '=', method_id)
    .executeTakeFirst()
  return found?.provider ?? ''
}

function automatic(
  { clock, siteUrl }: Paying,
  { account_id, amount, method_id }: AutoTopUpTable,
  provider: string,
): PaymentTable {
  const payment_id = uuid()
  const now = clock.now()
  return {
    ...{ payment_id, account_id, provider, provider_id: null, charge_id: null, status: 'pending' },
    ...{ amount, refunded: 0, disputed: 0, url: null, problem: null },
    return_url: `${siteUrl()}/billing/payments/${payment_id}`,
    ...{ created_at: now, booked_at: null, looked_at: null, look_at: now + OPENING_MS },
    ...{ method_id, saves_method: 0, is_automatic: 1, card: null },
    ...chargeOf(null),
  }
}
