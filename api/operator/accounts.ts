import {
  changeQuotas,
  changeStatus,
  createAccount,
  describeAccount,
  findAccount,
  findAccountByEmail,
  findAccountByExternalId,
  type StatusChange,
  searchAccounts,
} from '../accounts/accounts.ts'
import { recordUpdate } from '../accounts/events.ts'
import { changeTerms } from '../accounts/prices.ts'
import { type GivenLimits, ownLimits } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { refuseClosed } from '../accounts/status.ts'
import type { AccountTable } from '../accounts/tables.ts'
import { ownPrices } from '../accounts/view.ts'
import { ledgersOf, post, ReferenceTaken } from '../billing/ledger.ts'
import { setCreditLimit } from '../billing/standing.ts'
import { type Catalog, notOnOffer } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import type { Quota } from '../feature.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { ApiError, bodyIssue, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { currentOrigin, onBehalfOf } from '../http/limits/origin.ts'
import { formatMoney, parseMoney } from '../money.ts'
import { isGone, paymentBookedAs, returnsOf } from '../payments/payments.ts'
import { canonicalEmail } from '../people/person/people.ts'
import { operatedServers } from '../servers/queries.ts'
import { repriceAccount } from '../servers/repricing.ts'
import { serverProblems } from '../servers/schema.ts'
import { reprieveAll } from '../servers/suspension.ts'
import {
  type AccountCreate,
  type AccountUpdate,
  type Credit,
  type CreditLimitChange,
  type OperatedAccount,
  operatorProblems,
  type PriceChange,
} from './schema.ts'

interface Place {
  db: Database
  clock: Clock
  /** The quotas of all features. */
  quotas: readonly Quota[]
}

interface Networked extends Place {
  /** Called when the connectivity of servers has changed. */
  changed: (serverIds: readonly string[]) => void
}

export async function listAccounts(
  { db }: Place,
  filter: Parameters<typeof searchAccounts>[1],
  page: Page,
): Promise<{ items: OperatedAccount[]; total: number }> {
  const { items, total } = await searchAccounts(db, filter, page)
  return { items: await viewsOf(db, items), total }
}

async function viewsOf(db: Database, rows: readonly AccountTable[]): Promise<OperatedAccount[]> {
  const ids = rows.map(({ account_id }) => account_id)
  const ledgers = await ledgersOf(db, ids)
  return rows.map((row) => {
    const ledger = ledgers.get(row.account_id)
    return {
      account_id: row.account_id,
      email: row.email,
      external_id: row.external_id,
      name: row.name,
      tags: tagsOf(row),
      notes: row.notes,
      status: row.status,
      status_reason: row.status_reason,
      status_since: isoTimeOrNull(row.status_since),
      is_frozen: row.frozen_at !== null,
      balance: formatMoney(ledger?.balance ?? 0),
      credit_limit: formatMoney(ledger?.credit_limit ?? 0),
      paid: formatMoney(ledger?.paid ?? 0),
      quotas: ownLimits(row),
      ...ownPrices(row),
      is_depleted: (ledger?.depleted_since ?? null) !== null,
      server_count: row.servers_used,
      created_at: isoTime(row.created_at),
    }
  })
}

/** Parses the operator's own tags of an account. */
export function tagsOf({ tags }: Pick<AccountTable, 'tags'>): string[] {
  const words: string[] = JSON.parse(tags)
  return words
}

export async function showAccount({ db }: Place, accountId: string): Promise<OperatedAccount> {
  const [view] = await viewsOf(db, [await findAccount(db, accountId)])
  if (!view) throw new Error('an account without a view')
  return view
}

/**
 * Creates an account for a customer. The person who signs up with its address later is its owner.
 * @returns the account, and whether it is new: a repeat with the same address and external id returns the first one
 * @throws ApiError account_exists
 */
export async function openAccount(
  place: Place,
  { email: given, name, external_id: externalId, quotas }: AccountCreate,
): Promise<{ account: OperatedAccount; isNew: boolean }> {
  const { db, clock } = place
  const email = canonicalEmail(given)
  const accountId = await asOperator(() =>
    createAccount(db, clock, { email, name: name || email, externalId, quotas: givenLimits(quotas ?? {}) }),
  )
  if (accountId) return { account: await showAccount(place, accountId), isNew: true }
  const [byEmail, byExternalId] = await Promise.all([
    findAccountByEmail(db, email),
    externalId === undefined ? undefined : findAccountByExternalId(db, externalId),
  ])
  if (byEmail && byEmail.external_id === (externalId ?? null))
    return { account: await showAccount(place, byEmail.account_id), isNew: false }
  const taken = byExternalId
    ? `The external id ${externalId} is that of account ${byExternalId.account_id}.`
    : `Account ${byEmail?.account_id} has this address, and ${byEmail?.external_id ? 'another' : 'no'} external id.`
  throw new ApiError(operatorProblems.account_exists, `Nothing was created. ${taken}`)
}

/** @throws ApiError account_exists if another account has the external id */
export async function updateAccount(
  place: Place,
  accountId: string,
  { tags, ...change }: AccountUpdate,
): Promise<OperatedAccount> {
  const whole = { ...change, ...(tags === undefined ? {} : { tags: JSON.stringify(tags) }) }
  if (!(await asOperator(() => describeAccount(place, accountId, whole))))
    throw new ApiError(
      operatorProblems.account_exists,
      `Nothing changed. Another account has the external id ${change.external_id}.`,
    )
  return showAccount(place, accountId)
}

/** Sets limits of an account; null returns one to the default. */
export async function setLimits(
  place: Place,
  accountId: string,
  change: { limits: Limits; reason: string },
): Promise<OperatedAccount> {
  const { limits, reason } = change
  await asOperator(() => changeQuotas(place, accountId, { change: givenLimits(limits), reason }))
  return showAccount(place, accountId)
}

type Limits = Readonly<Record<string, number | null | undefined>>

function givenLimits(limits: Limits): GivenLimits {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, limit]) => (limit === undefined ? [] : [[name, limit]])),
  )
}

/** Sets the prices of an account; what it has costs them from this moment. @throws ApiError validation_failed */
export async function setPrices(
  place: Place & { catalog: Catalog },
  accountId: string,
  { price_percent: percent, preset_prices_rub, reason }: PriceChange,
): Promise<OperatedAccount> {
  const { db, clock, catalog } = place
  const known = catalog.presets.map(({ slug }) => slug)
  const given = Object.entries(preset_prices_rub)
  const issues = given.flatMap(([slug]) =>
    known.includes(slug)
      ? []
      : [bodyIssue(`preset_prices_rub.${slug}`, 'not_found', notOnOffer('preset', slug, known))],
  )
  if (issues.length > 0) throw invalid(issues)
  const presets = Object.fromEntries(given.map(([slug, price]) => [slug, parseMoney(price)]))
  await asOperator(async () => {
    const at = await changeTerms(place, accountId, { percent, presets, reason })
    await repriceAccount(db, catalog, accountId, { at, now: clock.now() })
  })
  return showAccount(place, accountId)
}

/** Lets an account owe an amount before its servers are suspended. */
export async function changeCreditLimit(
  place: Place,
  accountId: string,
  { credit_limit_rub, reason }: CreditLimitChange,
): Promise<OperatedAccount> {
  const { db, clock, quotas } = place
  await asOperator(() =>
    db.transaction().execute(async (tx) => {
      await setCreditLimit(tx, accountId, parseMoney(credit_limit_rub))
      await recordUpdate(tx, await findAccount(tx, accountId), { quotas, reason, at: clock.now() })
    }),
  )
  return showAccount(place, accountId)
}

/**
 * Runs an action as the operator: the audit log shows the customer that an operator acted, but hides their address.
 * @param reason is added to the action, if no event has it
 */
export function asOperator<Result>(run: () => Promise<Result>, reason?: string): Promise<Result> {
  const origin = currentOrigin()
  if (!origin) return run()
  const action = reason === undefined ? origin.action : `${origin.action}: ${reason}`
  return onBehalfOf({ ...origin, action, address: null }, run)
}

/** Freezes an account, whatever its status; resuming undoes it. */
export const FREEZE = {
  from: ['active', 'suspended', 'closed'],
  to: 'suspended',
  isFreezing: true,
} as const satisfies Omit<StatusChange, 'reason'>

/**
 * Changes an account's status; resuming or freezing an account keeps the servers that were due for deletion.
 * @returns false if the account is in another status, or already frozen
 */
export async function moveStatus(
  { db, clock, quotas }: Omit<Place, 'db'> & { db: Queries },
  accountId: string,
  change: StatusChange,
): Promise<boolean> {
  if (!(await changeStatus({ db, clock, quotas }, accountId, change))) return false
  if (change.to === 'active' || change.isFreezing) await reprieveAll(db, accountId, clock.now())
  return true
}

/** @throws ApiError account_status_conflict */
export async function setStatus(
  place: Place,
  accountId: string,
  change: StatusChange,
  remember: Remember,
): Promise<OperatedAccount> {
  const isChanged = await asOperator(() =>
    place.db.transaction().execute(async (tx) => {
      if (!(await moveStatus({ ...place, db: tx }, accountId, change))) return false
      await remember(tx, accountId)
      return true
    }),
  )
  const account = await showAccount(place, accountId)
  if (!isChanged)
    throw new ApiError(
      operatorProblems.account_status_conflict,
      account.is_frozen
        ? 'Nothing changed: the account is frozen. Resume it first.'
        : `Nothing changed: the account is ${account.status}, not ${change.from.join(' or ')}.`,
    )
  return account
}

/** Freezes an account and cuts its servers off the network. A repeat only cuts the network again. */
export async function freezeAccount(
  place: Networked,
  accountId: string,
  reason: string,
  remember: Remember,
): Promise<OperatedAccount> {
  const frozen = () =>
    setStatus(place, accountId, { ...FREEZE, reason }, remember).catch(async (error: unknown) => {
      const account = await showAccount(place, accountId)
      if (error instanceof ApiError && account.is_frozen) return account
      throw error
    })
  return connectingAgain(place, accountId, frozen)
}

/** Resumes an account and gives its servers the network back. @throws ApiError account_status_conflict */
export async function resumeAccount(
  place: Networked,
  accountId: string,
  reason: string,
  remember: Remember,
): Promise<OperatedAccount> {
  const change = { from: ['suspended', 'closed'], to: 'active', reason } as const
  return connectingAgain(place, accountId, () => setStatus(place, accountId, change, remember))
}

async function connectingAgain(
  place: Networked,
  accountId: string,
  run: () => Promise<OperatedAccount>,
): Promise<OperatedAccount> {
  const account = await run()
  const servers = await operatedServers(place.db).where('account_id', '=', accountId).execute()
  place.changed(servers.map(({ server_id }) => server_id))
  return account
}

/**
 * Closes an account; until its servers are deleted, resuming it undoes this.
 * @throws ApiError account_status_conflict, delete_protected
 */
export async function closeAccount(
  place: Place,
  accountId: string,
  { reason, force = false }: { reason: string; force?: boolean | undefined },
  remember: Remember,
): Promise<OperatedAccount> {
  const kept = await operatedServers(place.db)
    .where('account_id', '=', accountId)
    .where('delete_protection', '=', 1)
    .limit(1)
    .executeTakeFirst()
  if (kept && !force)
    throw new ApiError(
      serverProblems.delete_protected,
      `Nothing changed: ${kept.name} is protected from deletion. Ask the customer, or send force.`,
    )
  return setStatus(place, accountId, { from: ['active', 'suspended'], to: 'closed', reason }, remember)
}

/**
 * Books an entry as `post` does. A closed account receives no money, but its balance may be paid back.
 * @throws ApiError account_suspended if the account is closed, reference_taken if another payment has the reference
 */
export function book(
  { db, clock }: Pick<Place, 'db' | 'clock'>,
  entry: Parameters<typeof post>[2],
): ReturnType<typeof post> {
  return db.transaction().execute(async (tx) => {
    const booked = await post(tx, clock, entry)
    if (booked.isNew && entry.amount > 0) {
      await refuseClosed(tx, entry.accountId)
      await refuseWrongPayment(tx, entry)
    }
    return booked
  })
}

/**
 * Checks a held payment that an operator books by its reference. No other account may have it, and no part of it may be
 * refunded, because nothing would deduct the refund from the balance.
 * @throws ApiError reference_taken
 */
async function refuseWrongPayment(
  tx: Queries,
  { accountId, reference }: Parameters<typeof post>[2],
): Promise<void> {
  const payment = reference ? await paymentBookedAs(tx, reference) : undefined
  if (!payment) return
  const refusal = (why: string) =>
    new ApiError(
      operatorProblems.reference_taken,
      `Nothing changed: the reference ${reference} is that of ${why}.`,
    )
  if (payment.account_id !== accountId) throw refusal(`a payment of the account ${payment.account_id}`)
  if ((await returnsOf(tx, [payment.payment_id])).some(isGone))
    throw refusal(
      'a payment that was paid back, or is about to be. Credit what is left with another reference',
    )
}

/**
 * Adds an amount to the balance of an account, or takes it away.
 * @param sign of the amount, which is above zero
 * @throws ApiError reference_taken, account_status_conflict
 */
export async function bookFor(
  place: Place,
  accountId: string,
  sign: 1 | -1,
  { type, reason: description, reference, ...entry }: Credit,
): Promise<OperatedAccount> {
  const amount = sign * parseMoney(entry.amount)
  await asOperator(() => book(place, { accountId, type, amount, description, reference })).catch(
    (error: unknown) => {
      if (error instanceof ApiError && error.type === accountProblems.account_suspended)
        throw new ApiError(
          operatorProblems.account_status_conflict,
          `Nothing changed: the account is closed.`,
        )
      if (!(error instanceof ReferenceTaken)) throw error
      throw new ApiError(
        operatorProblems.reference_taken,
        `Nothing changed: ${error.message}. Use another reference for this payment.`,
      )
    },
  )
  return showAccount(place, accountId)
}
