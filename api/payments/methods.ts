import { v7 as uuid } from 'uuid'
import { lockAccount } from '../accounts/accounts.ts'
import { closedAccounts } from '../accounts/status.ts'
import { setTopUpLine } from '../billing/standing.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { countOf, type Page, pageOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { audit } from '../events/outbox.ts'
import { ApiError, found } from '../http/contract/problem.ts'
import { NoAnswer } from '../outgoing.ts'
import type { FoundMethod, PaymentProvider } from './provider.ts'
import { Refused } from './provider.ts'
import { MOST_METHODS, paymentProblems } from './schema.ts'
import type { PaymentMethodTable, PaymentTable } from './tables.ts'

const FORGET_AT_ONCE = 16

export function listMethods(db: Queries, accountId: string, page: Page) {
  return pageOf(ofAccount(db, accountId).selectAll().orderBy('method_id', 'desc'), page)
}

/** @throws ApiError payment_method_not_found */
export async function findMethod(
  db: Queries,
  accountId: string,
  methodId: string,
): Promise<PaymentMethodTable> {
  const row = await ofAccount(db, accountId).selectAll().where('method_id', '=', methodId).executeTakeFirst()
  return found(row, paymentProblems.payment_method_not_found)
}

function ofAccount(db: Queries, accountId: string) {
  return db.selectFrom('payment_methods').where('account_id', '=', accountId).where('removed_at', 'is', null)
}

/** Finds the method that a payment charges, even a deleted one: a repeat must send the same request. */
export async function chargedMethod(db: Queries, { method_id, account_id }: PaymentTable) {
  if (method_id === null) return null
  const row = await db
    .selectFrom('payment_methods')
    .selectAll()
    .where('account_id', '=', account_id)
    .where('method_id', '=', method_id)
    .executeTakeFirst()
  if (!row) throw new Refused('The saved method was deleted.')
  return { providerId: row.provider_id, customerId: row.customer_id }
}

/**
 * Refuses to save one more method than an account may have. The account is locked.
 * @throws ApiError too_many_payment_methods
 */
export async function requireRoomForMethod(tx: Queries, accountId: string): Promise<void> {
  const saved = await countOf(ofAccount(tx, accountId))
  const coming = await countOf(
    tx
      .selectFrom('payments')
      .where('account_id', '=', accountId)
      .where('saves_method', '=', 1)
      .where('status', 'in', ['pending', 'held']),
  )
  if (saved + coming >= MOST_METHODS)
    throw new ApiError(
      paymentProblems.too_many_payment_methods,
      `The account has ${saved} saved payment methods, and ${coming} payments are about to save one; ${MOST_METHODS} may be saved. Delete one of them.`,
    )
}

/** Keeps the method of a payment that was booked, once. */
export async function saveMethod(
  tx: Queries,
  clock: Clock,
  { account_id, provider }: PaymentTable,
  { providerId, customerId, brand, lastFour, expires }: FoundMethod,
): Promise<void> {
  await tx
    .insertInto('payment_methods')
    .values({
      ...{ method_id: uuid(), account_id, provider, provider_id: providerId, customer_id: customerId },
      ...{ brand, last_four: lastFour, expires, created_at: clock.now(), removed_at: null },
    })
    .onConflict((conflict) => conflict.columns(['provider', 'provider_id']).doNothing())
    .execute()
}

/** Deletes a method for the customer; the worker has the provider forget it. */
export function deleteMethod(
  db: Database,
  clock: Clock,
  { account_id, method_id }: PaymentMethodTable,
): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await lockAccount(tx, account_id)
    const now = clock.now()
    const { numUpdatedRows } = await tx
      .updateTable('payment_methods')
      .set({ removed_at: now })
      .where('method_id', '=', method_id)
      .where('removed_at', 'is', null)
      .executeTakeFirst()
    const entry = { objectType: 'payment_method', objectId: method_id, at: now }
    if (numUpdatedRows === 0n) return
    await stopCharging(tx, now, { account_id, method_id })
    await audit(tx, [account_id], entry)
  })
}

/**
 * Deletes the methods of all closed accounts, so that nobody can charge them.
 * @returns true if more may remain
 */
export async function deleteOfClosed(db: Database, clock: Clock): Promise<boolean> {
  const kept = await db
    .selectFrom('payment_methods')
    .selectAll()
    .where('removed_at', 'is', null)
    .where('account_id', 'in', closedAccounts(db))
    .limit(FORGET_AT_ONCE)
    .execute()
  for (const method of kept) await deleteMethod(db, clock, method)
  return kept.length === FORGET_AT_ONCE
}

/** Turns off the automatic top-ups that charge a deleted method. The account is locked. */
async function stopCharging(
  tx: Queries,
  now: number,
  { account_id, method_id }: Pick<PaymentMethodTable, 'account_id' | 'method_id'>,
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('auto_top_ups')
    .set({ off_reason: 'method_deleted', updated_at: now })
    .where('method_id', '=', method_id)
    .where('off_reason', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await setTopUpLine(tx, account_id, null)
}

/**
 * Returns a function that has the providers forget deleted methods, and deletes their rows. A method that a
 * payment has yet to charge is kept until then.
 * @throws NoAnswer if a provider does not answer, after the other providers were called
 */
export function forgetting(providers: readonly PaymentProvider[]): (db: Database) => Promise<void> {
  const names = providers.map(({ name }) => name)
  const removed = prepared((db) => removedOf(db, names))
  return async (db) => forget(db, providers, await removed.all(db, {}))
}

function removedOf(db: Queries, providers: readonly string[]) {
  return db
    .selectFrom('payment_methods')
    .selectAll()
    .where('removed_at', 'is not', null)
    .where('provider', 'in', providers)
    .where('method_id', 'not in', (eb) =>
      eb
        .selectFrom('payments')
        .select((of) => of.fn.coalesce('method_id', of.val('')).as('method_id'))
        .where('method_id', 'is not', null)
        .where('status', '=', 'pending')
        .where('provider_id', 'is', null),
    )
    .orderBy('removed_at')
    .limit(FORGET_AT_ONCE)
}

async function forget(
  db: Database,
  providers: readonly PaymentProvider[],
  removed: readonly PaymentMethodTable[],
): Promise<void> {
  const silent = new Map<string, NoAnswer>()
  for (const { method_id, provider: name, provider_id, customer_id } of removed) {
    if (silent.has(name)) continue
    const provider = providers.find((each) => each.name === name)
    try {
      await provider?.forget({ providerId: provider_id, customerId: customer_id })
    } catch (error) {
      if (error instanceof NoAnswer) {
        silent.set(name, error)
        continue
      }
      // The provider has forgotten the method already.
      if (!(error instanceof Refused)) throw error
    }
    await db.deleteFrom('payment_methods').where('method_id', '=', method_id).execute()
  }
  const [failure] = silent.values()
  if (failure) throw failure
}
