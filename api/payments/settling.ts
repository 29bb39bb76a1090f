import { v7 as uuid } from 'uuid'
import { isClosed } from '../accounts/status.ts'
import { isBooked, post, ReferenceTaken } from '../billing/ledger.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { Secrets } from '../secrets.ts'
import { arrived, askedSum, mismatch, partsOf, RUBLES, rublesOf } from './charging.ts'
import { formatIn } from './exchange.ts'
import { saveMethod } from './methods.ts'
import { lockPayment, returnsOf } from './payments.ts'
import type { Found, Return } from './provider.ts'
import type { PaymentReturnTable, PaymentTable } from './tables.ts'
import { referenceOf } from './view.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE
/** A customer may be waiting on the return page. */
const SOONEST_MS = 5 * SECOND
/** A provider exchanges a charge within minutes. */
const EXCHANGE_MS = 3 * DAY
/** Cards can be disputed for months. */
const LAST_LOOK_MS = 256 * DAY

interface Place {
  db: Database
  clock: Clock
  secrets: Secrets
}

/** The result of a check: the payment, and a problem that was found for the first time. */
export interface Settled {
  payment: PaymentTable
  news: string | null
}

/**
 * Books what the provider has reported, each thing once, even if reports arrive twice, late or out of order.
 * A report that does not match is not booked; the payment's `problem` says why.
 */
export async function settle(
  { db, clock, secrets }: Place,
  paymentId: string,
  { card = null, ...reported }: Found,
): Promise<Settled> {
  // The database alone must not reveal a card.
  const found = { ...reported, card: card === null ? null : secrets.for('cards').digest(card) }
  return db
    .transaction()
    .execute((tx) => settleIn(tx, clock, paymentId, found))
    .catch((error: unknown) => {
      if (!(error instanceof ReferenceTaken)) throw error
      return db.transaction().execute(async (tx) => {
        const payment = await lockPayment(tx, paymentId)
        const held = payment.status === 'pending' ? { status: 'held' as const } : {}
        return save(tx, clock, payment, { ...held, problem: `Not booked: ${error.message}.` })
      })
    })
}

async function settleIn(tx: Queries, clock: Clock, paymentId: string, found: Found): Promise<Settled> {
  const payment = await lockPayment(tx, paymentId)
  const returns = await returnsOf(tx, [paymentId])
  const begun = await settlePayment(tx, clock, payment, found)
  const after = { ...payment, charge_id: found.chargeId ?? payment.charge_id, ...begun }
  const gone = { refunded: after.refunded, disputed: after.disputed }
  const taken = Map.groupBy(
    returns.filter(({ status }) => status === 'taken'),
    ({ kind }) => kind,
  )
  const parts = { refund: partsOf(taken.get('refund') ?? []), dispute: partsOf(taken.get('dispute') ?? []) }
  // Returns are booked against the sum that arrived, once that is known.
  for (const reported of after.status === 'pending' ? [] : found.returns) {
    const known = returns.find(
      ({ kind, provider_id }) => kind === reported.kind && provider_id === reported.providerId,
    )
    const problem = await settleReturn(
      tx,
      clock,
      { payment: { ...after, ...gone }, known, gone, parts },
      reported,
    )
    if (problem !== null) after.problem = problem
  }
  return save(tx, clock, payment, { ...after, ...gone }, returns)
}

async function settlePayment(
  tx: Queries,
  clock: Clock,
  payment: PaymentTable,
  found: Found,
): Promise<Partial<PaymentTable>> {
  if (payment.status === 'succeeded')
    return found.status === 'succeeded'
      ? { problem: null }
      : { problem: `The provider reports ${found.status} after it reported success. Look at it there.` }
  if (found.status === 'pending') return {}
  if (found.status === 'canceled') return { status: 'canceled', problem: null, url: null }
  const amount = arrived(payment, found)
  const problem = await objectionTo(tx, clock, payment, found)
  if (problem !== null) return { status: 'held', problem, url: null }
  // The provider has not exchanged the sum yet.
  if (typeof amount !== 'number') return {}
  const { account_id: accountId, provider, provider_id } = payment
  await post(tx, clock, {
    ...{ accountId, type: 'payment', amount, description: `Payment through ${provider}` },
    reference: referenceOf(payment, provider_id),
  })
  if (payment.saves_method === 1 && found.method) await saveMethod(tx, clock, payment, found.method)
  const card = found.card ?? null
  return { status: 'succeeded', amount, booked_at: clock.now(), card, problem: null, url: null }
}

/** Returns why money that has arrived is not booked; null if it can be booked. */
async function objectionTo(
  tx: Queries,
  clock: Clock,
  payment: PaymentTable,
  found: Found,
): Promise<string | null> {
  const wrong = mismatch(payment, found)
  if (wrong !== null) return wrong
  const amount = arrived(payment, found)
  if (typeof amount === 'string') return amount
  if (amount === null && (payment.status === 'held' || clock.now() - payment.created_at > EXCHANGE_MS))
    return 'Not booked: the provider has not said for three days what arrived.'
  if (payment.refunded + payment.disputed > 0) return 'Not booked: it was paid back.'
  return (await isClosed(tx, payment.account_id)) ? 'Not booked: the account is closed.' : null
}

interface Returning {
  payment: PaymentTable
  known: PaymentReturnTable | undefined
  /** The sums that were returned, which settleReturn updates. */
  gone: { refunded: number; disputed: number }
  /** The same in the currency of the charge, if that is not rubles. */
  parts: Record<Return['kind'], number>
}

/** Books a refund or a dispute, or the end of one. @returns why it was not booked */
async function settleReturn(
  tx: Queries,
  clock: Clock,
  { payment, known, gone, parts }: Returning,
  { kind, providerId, amount, currency, status }: Return,
): Promise<string | null> {
  if (status === 'pending') return null
  const row = known ?? fresh(payment, clock, { kind, providerId, amount })
  const isTaken = row.status === 'taken' || row.status === 'reversed'
  if (status === 'reversed') {
    if (row.status === 'reversed' || row.status === 'failed') return null
    await keep(tx, { ...row, status: isTaken ? 'reversed' : 'failed' })
    if (isTaken) await move(tx, clock, { payment, row, gone, parts }, 1)
    return null
  }
  if (isTaken) return null
  const asked = askedSum(payment)
  const taken = kind === 'refund' ? payment.refunded : payment.disputed
  const rest = asked.currency === RUBLES ? payment.amount - taken : asked.amount - parts[kind]
  const wanted = asked.currency === RUBLES ? row.amount : row.charge_amount
  if (currency !== asked.currency || amount > rest || amount <= 0 || amount !== wanted)
    return `Not booked: a ${kind} of ${formatIn(currency, amount)} ${currency} (${providerId}), which does not match the payment.`
  const before = parts.refund + parts.dispute
  const rubles = rublesOf(payment, amount, { before, taken: gone.refunded + gone.disputed })
  const booked = { ...row, amount: rubles, status: 'taken' as const }
  await keep(tx, booked)
  await move(tx, clock, { payment, row: booked, gone, parts }, -1)
  return null
}

/**
 * Moves the amount of a refund or dispute out of the balance, or back into it. Money that was never in the
 * balance is not taken from it. A held payment is in the balance if the operator has credited it with its
 * reference.
 */
async function move(
  tx: Queries,
  clock: Clock,
  { payment, row, gone, parts }: Omit<Returning, 'known'> & { row: PaymentReturnTable },
  sign: 1 | -1,
): Promise<void> {
  const { kind, amount, provider_id } = row
  gone[kind === 'refund' ? 'refunded' : 'disputed'] -= sign * amount
  parts[kind] -= sign * (row.charge_amount ?? 0)
  if (payment.provider_id === null || provider_id === null || amount === 0) return
  const reference = referenceOf(payment, provider_id)
  const cause = sign < 0 ? referenceOf(payment, payment.provider_id) : reference
  if (payment.status !== 'succeeded' && !(await isBooked(tx, payment.account_id, cause))) return
  const about = sign < 0 ? `${kind} of a payment` : `${kind} of a payment, reversed`
  await post(tx, clock, {
    accountId: payment.account_id,
    type: 'payment',
    amount: sign * amount,
    description: `${about} through ${payment.provider}`,
    reference: `${reference}${sign < 0 ? '' : ':reversed'}`,
  })
}

function fresh(
  { payment_id, charge_currency }: PaymentTable,
  clock: Clock,
  { kind, providerId, amount }: Pick<Return, 'kind' | 'providerId' | 'amount'>,
): PaymentReturnTable {
  return {
    ...{ return_id: uuid(), payment_id, kind, provider_id: providerId, amount },
    charge_amount: charge_currency === null ? null : amount,
    ...{ status: 'requested', reason: null, created_at: clock.now() },
  }
}

/** Writes a refund or dispute: a new row, or the new status of one. */
async function keep(tx: Queries, row: PaymentReturnTable): Promise<void> {
  await tx
    .insertInto('payment_returns')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('return_id').doUpdateSet({ status: row.status, amount: row.amount }),
    )
    .execute()
}

async function save(
  tx: Queries,
  clock: Clock,
  payment: PaymentTable,
  change: Partial<PaymentTable>,
  returns: readonly PaymentReturnTable[] = [],
): Promise<Settled> {
  const now = clock.now()
  const after = { ...payment, ...change, looked_at: now }
  const isBusy = returns.some(({ status }) => status === 'requested')
  const next = { ...after, look_at: nextLook(after, now, isBusy) }
  await tx.updateTable('payments').set(next).where('payment_id', '=', payment.payment_id).execute()
  return { payment: next, news: next.problem === payment.problem ? null : next.problem }
}

/**
 * Returns the time of the next check of a payment: soon while it is pending or being refunded, daily while it
 * is held, later after its own age or a day.
 * @returns null if there is nothing to expect
 */
export function nextLook(
  { status, created_at }: Pick<PaymentTable, 'status' | 'created_at'>,
  now: number,
  isBusy: boolean,
): number | null {
  const ageMs = Math.max(0, now - created_at)
  if (status === 'pending') return now + Math.min(Math.max(SOONEST_MS, Math.round(ageMs / 8)), 10 * MINUTE) // not money
  if (isBusy) return now + MINUTE
  if (status === 'canceled' || ageMs > LAST_LOOK_MS) return null
  return now + (status === 'held' ? DAY : Math.max(DAY, ageMs))
}
