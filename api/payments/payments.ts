import { v7 as uuid } from 'uuid'
import { findAccount, lockAccount } from '../accounts/accounts.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { countOf, type Page, pageOf } from '../database/page.ts'
import { audit } from '../events/outbox.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { formatMoney, parseMoney } from '../money.ts'
import { NoAnswer } from '../outgoing.ts'
import { askedSum, partFor, sumOf } from './charging.ts'
import { chargeOf } from './exchange.ts'
import { chargedMethod, findMethod, requireRoomForMethod } from './methods.ts'
import { type PaymentProvider, providerNames, Refused } from './provider.ts'
import { MOST_OPEN, type PaymentCreate, paymentProblems, type RefundCreate } from './schema.ts'
import type { PaymentReturnTable, PaymentTable } from './tables.ts'

/** Providers forget an idempotency key after a day; a later repeat would be a second payment. */
export const KEY_LIVES_MS = 23 * 3600_000
/** The time in which the customer's request opens the payment; afterwards the worker does. */
export const OPENING_MS = 10_000

export interface Paying {
  db: Database
  clock: Clock
  catalog: Pick<Catalog, 'operator'>
  /** The providers that are set up, the preferred one first. */
  providers: readonly PaymentProvider[]
  /** The address of the console. */
  siteUrl: () => string
}

export function listPayments(db: Queries, accountId: string, page: Page) {
  return pageOf(ofAccount(db, accountId).selectAll().orderBy('payment_id', 'desc'), page)
}

/** @throws ApiError payment_not_found */
export async function findPayment(db: Queries, accountId: string, paymentId: string): Promise<PaymentTable> {
  const row = await ofAccount(db, accountId)
    .selectAll()
    .where('payment_id', '=', paymentId)
    .executeTakeFirst()
  return found(row, paymentProblems.payment_not_found)
}

function ofAccount(db: Queries, accountId: string) {
  return db.selectFrom('payments').where('account_id', '=', accountId)
}

/**
 * Begins a payment. Its row is written first, so that every payment known to the provider is known here.
 * @throws ApiError validation_failed, payments_off, too_many_open_payments, payment_method_not_found,
 * too_many_payment_methods, and those of continuePayment
 */
export async function startPayment(
  paying: Paying,
  accountId: string,
  request: PaymentCreate,
  remember: Remember,
): Promise<PaymentTable> {
  const { provider: wanted, return_url, save_method = false } = request
  const { db, clock, providers, siteUrl } = paying
  const { amount, foreign, isTakenBy } = sumOf(paying.catalog, request)
  const method_id = wantedMethod(request)
  const name = method_id === undefined ? wanted : (await findMethod(db, accountId, method_id)).provider
  if (wanted !== undefined && wanted !== name)
    throw invalid([
      bodyIssue('provider', 'mutually_exclusive', `provider must be ${name}, which has saved the method.`),
    ])
  const taking = providers.filter((each) => isTakenBy(each.name))
  const provider = name ? taking.find((each) => each.name === name) : taking[0]
  if (!provider) throw paymentsOff(taking)
  const paymentId = uuid()
  const now = clock.now()
  const row: PaymentTable = {
    payment_id: paymentId,
    account_id: accountId,
    ...{ provider: provider.name, provider_id: null, charge_id: null, status: 'pending' },
    ...{ amount, refunded: 0, disputed: 0, url: null, problem: null },
    return_url: return_url ?? `${siteUrl()}/billing/payments/${paymentId}`,
    ...{ created_at: now, booked_at: null, looked_at: null, look_at: now + OPENING_MS },
    ...{ method_id: method_id ?? null, saves_method: save_method ? 1 : 0, is_automatic: 0, card: null },
    ...chargeOf(foreign),
  }
  await db.transaction().execute(async (tx) => {
    await lockAccount(tx, accountId)
    // The method may have been deleted since.
    if (method_id !== undefined) await findMethod(tx, accountId, method_id)
    if (save_method) await requireRoomForMethod(tx, accountId)
    const open = await countOf(ofAccount(tx, accountId).where('status', '=', 'pending'))
    if (open >= MOST_OPEN)
      throw new ApiError(
        paymentProblems.too_many_open_payments,
        `${open} payments of the account are waiting, and ${MOST_OPEN} may. Pay one of them, or wait until one expires.`,
      )
    await tx.insertInto('payments').values(row).execute()
    await audit(tx, [accountId], { objectType: 'payment', objectId: paymentId, at: now })
    await remember(tx, paymentId)
  })
  return continuePayment(paying, row, true)
}

/**
 * Returns the saved method that a request names, in either of two fields.
 * @throws ApiError validation_failed
 */
function wantedMethod({ payment_method_id, method_id, save_method }: PaymentCreate): string | undefined {
  const excluding = (field: string, sentence: string) =>
    invalid([bodyIssue(field, 'mutually_exclusive', sentence)])
  if (payment_method_id !== undefined && method_id !== undefined)
    throw excluding('method_id', 'Give either payment_method_id or method_id.')
  const named = payment_method_id ?? method_id
  if (named !== undefined && save_method)
    throw excluding('save_method', 'save_method must be false with payment_method_id.')
  return named
}

export function paymentsOff(providers: readonly PaymentProvider[]): ApiError {
  const known = providers.map(({ name }) => name).join(', ')
  return new ApiError(
    paymentProblems.payments_off,
    known === ''
      ? 'The operator has set up no payment provider. Contact them to top up.'
      : `Choose one of the providers that are set up: ${known}.`,
  )
}

/**
 * Opens a payment. If the provider does not answer, the payment has no page yet: the worker tries again.
 * @throws ApiError payment_refused
 */
export async function continuePayment(
  paying: Paying,
  row: PaymentTable,
  isFirst = false,
): Promise<PaymentTable> {
  if (row.status !== 'pending' || row.provider_id !== null) return row
  const opened = await openPayment(paying, row, isFirst).catch((error: unknown) => {
    if (error instanceof NoAnswer) return row
    throw error
  })
  if (opened.status !== 'canceled') return opened
  throw new ApiError(
    paymentProblems.payment_refused,
    'The payment provider refuses the payment, and nothing was paid. Try another payment method, or contact the operator.',
  )
}

/**
 * Makes a payment known to its provider. One that the provider refuses is canceled; a repeated charge is held, as the
 * first request may have taken money.
 * @throws NoAnswer
 */
export async function openPayment(paying: Paying, row: PaymentTable, isFirst = false): Promise<PaymentTable> {
  const { db, clock, catalog, providers } = paying
  const { payment_id, account_id, return_url } = row
  const provider = providerOf(providers, row)
  const { email } = await findAccount(db, account_id)
  const order = {
    ...{ paymentId: payment_id, accountId: account_id, returnUrl: return_url, email },
    ...askedSum(row),
    seller: catalog.operator.name ?? 'Berth',
    savesMethod: row.saves_method === 1,
  }
  const opening = async () => provider.open({ ...order, method: await chargedMethod(db, row) })
  // A charge completes at once, but a page waits for its customer.
  const waitMs = row.method_id === null ? OPENING_MS : 0
  const change = await opening().then(
    ({ providerId, url }) => ({ provider_id: providerId, url, look_at: clock.now() + waitMs }),
    (error: unknown) => {
      if (!(error instanceof Refused)) throw error
      const status = isFirst || row.method_id === null ? ('canceled' as const) : ('held' as const)
      return { status, problem: error.message, look_at: null }
    },
  )
  await db
    .updateTable('payments')
    .set(change)
    .where('payment_id', '=', payment_id)
    .where('provider_id', 'is', null)
    .execute()
  return findPayment(db, account_id, payment_id)
}

/** @throws NoAnswer if the operator has removed the provider of a payment */
export function providerOf(providers: readonly PaymentProvider[], row: PaymentTable): PaymentProvider {
  const provider = providers.find(({ name }) => name === row.provider)
  if (!provider) throw new NoAnswer(`the payment provider ${row.provider} is not set up`)
  return provider
}

export interface PaymentFilter {
  account_id?: string | undefined
  has_problem?: boolean | undefined
}

/** Payments of all accounts, newest first. */
export function searchPayments(
  db: Queries,
  { account_id, has_problem = false }: PaymentFilter,
  page: Page,
): Promise<{ items: PaymentTable[]; total: number }> {
  let query = db.selectFrom('payments').selectAll().orderBy('payment_id', 'desc')
  if (account_id !== undefined) query = query.where('account_id', '=', account_id)
  if (has_problem) query = query.where('problem', 'is not', null)
  return pageOf(query, page)
}

/** Counts the payments that a provider received and the operator must review before they are booked. */
export function countHeld(db: Queries): Promise<number> {
  // The partial index on problems contains these few payments.
  return countOf(db.selectFrom('payments').where('problem', 'is not', null).where('status', '=', 'held'))
}

/** Finds a payment of any account. @throws ApiError payment_not_found */
export async function findAnyPayment(db: Queries, paymentId: string): Promise<PaymentTable> {
  const row = await db
    .selectFrom('payments')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .executeTakeFirst()
  return found(row, paymentProblems.payment_not_found)
}

/** Finds the payment whose ledger entry has, or would have, this reference. */
export async function paymentBookedAs(db: Queries, reference: string): Promise<PaymentTable | undefined> {
  const [, provider = '', providerId = ''] = /^([^:]+):(.+)$/.exec(reference) ?? []
  if (!providerNames.some((name) => name === provider)) return undefined
  const known = db.selectFrom('payments').selectAll().where('provider', '=', provider)
  return known.where('provider_id', '=', providerId).executeTakeFirst()
}

/** The refunds and disputes of payments, oldest first. */
export function returnsOf(db: Queries, paymentIds: readonly string[]): Promise<PaymentReturnTable[]> {
  if (paymentIds.length === 0) return Promise.resolve([])
  return db
    .selectFrom('payment_returns')
    .selectAll()
    .where('payment_id', 'in', paymentIds)
    .orderBy('return_id')
    .execute()
}

/**
 * Records a refund that the operator requests; the worker sends it, and books it once the provider has paid.
 * @throws ApiError refund_too_large
 */
export function requestRefund(
  { db, clock }: Pick<Paying, 'db' | 'clock'>,
  paymentId: string,
  { amount_rub, reason }: RefundCreate,
  remember: Remember,
): Promise<void> {
  return db.transaction().execute(async (tx) => {
    const payment = await lockPayment(tx, paymentId)
    const returns = await returnsOf(tx, [paymentId])
    const left = refundable(payment, returns)
    const amount = parseMoney(amount_rub)
    if (amount > left)
      throw new ApiError(
        paymentProblems.refund_too_large,
        `Nothing was refunded: ${formatMoney(left)} rubles of the payment can be paid back, not ${formatMoney(amount)}.`,
      )
    const part = partFor(payment, returns.filter(isGone), { amount, left })
    if (!part)
      throw invalid([
        bodyIssue(
          'amount_rub',
          'below_minimum',
          'amount_rub must be worth a coin of the currency that was charged.',
        ),
      ])
    const now = clock.now()
    const row: PaymentReturnTable = {
      ...{ return_id: uuid(), payment_id: paymentId, kind: 'refund', provider_id: null, ...part },
      ...{ status: 'requested', reason, created_at: now },
    }
    await tx.insertInto('payment_returns').values(row).execute()
    await tx.updateTable('payments').set({ look_at: now }).where('payment_id', '=', paymentId).execute()
    await audit(tx, [payment.account_id], { objectType: 'payment', objectId: paymentId, at: now })
    await remember(tx, paymentId)
  })
}

/** True for a return that is requested or has taken money. */
export const isGone = ({ status }: PaymentReturnTable) => status === 'requested' || status === 'taken'

/** Returns the units of a payment that are neither returned nor about to be. */
function refundable(payment: PaymentTable, returns: readonly PaymentReturnTable[]): number {
  if (payment.status !== 'succeeded' && payment.status !== 'held') return 0
  return Math.max(
    0,
    returns.filter(isGone).reduce((left, { amount }) => left - amount, payment.amount),
  )
}

/** Returns a payment, locked until the transaction ends. @throws ApiError payment_not_found */
export async function lockPayment(tx: Queries, paymentId: string): Promise<PaymentTable> {
  const row = await tx
    .updateTable('payments')
    .set((eb) => ({ status: eb.ref('status') }))
    .where('payment_id', '=', paymentId)
    .returningAll()
    .executeTakeFirst()
  return found(row, paymentProblems.payment_not_found)
}

/** Deletes at most `limit` payments that were canceled, and created before a moment. @returns the number deleted */
export function forgetCanceled(db: Database, before: number, limit: number): Promise<number> {
  return deleteFound(db, 'payments', 'payment_id', canceled(db).where('created_at', '<', before).limit(limit))
}

/** Deletes canceled payments of an account beyond its newest ones. @returns the number deleted */
export function forgetExcess(db: Database, accountId: string, most: number, limit: number): Promise<number> {
  const own = canceled(db).where('account_id', '=', accountId)
  return deleteFound(
    db,
    'payments',
    'payment_id',
    own.orderBy('payment_id', 'desc').limit(limit).offset(most),
  )
}

/** Queries the canceled payments that nothing refers to. */
function canceled(db: Database) {
  return db
    .selectFrom('payments')
    .select('payment_id')
    .where('status', '=', 'canceled')
    .where('payment_id', 'not in', (eb) => eb.selectFrom('payment_returns').select('payment_id'))
}
