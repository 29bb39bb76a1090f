import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import { paidIn } from '../billing/ledger.ts'
import type { Clock } from '../clock.ts'
import {
  type Database,
  inTransaction,
  isDuplicate,
  isSqlite,
  type Queries,
  send,
} from '../database/database.ts'
import { contains, type Page, pageOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { audit, record } from '../events/outbox.ts'
import type { Quota } from '../feature.ts'
import { recordUpdate } from './events.ts'
import { stepsIn } from './limit-steps.ts'
import { type GivenLimits, type Limited, limitsOf, readUse, requireWithin, writtenLimits } from './quotas.ts'
import type { AccountTable } from './tables.ts'
import { projectView } from './view.ts'

/**
 * Creates an account with its default project.
 * @returns the account's id, or null if the e-mail address or the external id is taken
 */
export async function createAccount(
  db: Queries,
  clock: Clock,
  account: { email: string; name: string; externalId?: string | undefined; quotas?: GivenLimits },
): Promise<string | null> {
  const accountId = uuid()
  const projectId = uuid()
  const now = clock.now()
  return inTransaction(db, async (tx) => {
    const inserted = await tx
      .insertInto('accounts')
      .values({
        account_id: accountId,
        email: account.email,
        external_id: account.externalId ?? null,
        name: account.name,
        status: 'active',
        status_reason: null,
        status_since: null,
        frozen_at: null,
        default_project_id: projectId,
        quotas: writtenLimits(account.quotas ?? {}),
        servers_used: 0,
        cpu_used: 0,
        ram_mb_used: 0,
        disk_gb_used: 0,
        is_smtp_open: 0,
        tags: '[]',
        notes: null,
        ...{ price_percent: 0, price_presets: '{}', repriced_since: null },
        created_at: now,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    if (!inserted.numInsertedOrUpdatedRows) return null
    const project = {
      project_id: projectId,
      account_id: accountId,
      name: 'Default',
      description: null,
      server_count: 0,
      created_at: now,
      updated_at: now,
    }
    await tx.insertInto('projects').values(project).execute()
    const data = projectView({ ...project, default_project_id: projectId })
    await record(tx, [{ accountId, type: 'project.created', data, at: now }])
    return accountId
  })
}

const byId = prepared((db, { accountId }: { accountId: string }) =>
  db.selectFrom('accounts').selectAll().where('account_id', '=', accountId),
)

export async function findAccount(db: Queries, accountId: string): Promise<AccountTable> {
  const account = await byId.first(db, { accountId })
  if (!account) throw new Error(`no such account: ${accountId}`)
  return account
}

export async function isAccount(db: Queries, accountId: string): Promise<boolean> {
  return (await byId.first(db, { accountId })) !== undefined
}

export function findAccountByExternalId(db: Queries, externalId: string) {
  return db.selectFrom('accounts').selectAll().where('external_id', '=', externalId).executeTakeFirst()
}

export function findAccountByEmail(db: Queries, email: string) {
  return db.selectFrom('accounts').selectAll().where('email', '=', email).executeTakeFirst()
}

/** Finds accounts by an address in any case. It reads all, so it is for operators. @param email in lower case */
export function accountsInAnyCase(db: Queries, email: string) {
  return db.selectFrom('accounts').selectAll().where(sql<boolean>`lower(email) = ${email}`).execute()
}

/**
 * Replaces the contact address of an account, if it is `from`, by the first free address of `to`, or by none. So the
 * next person who signs up with `from` gets their own account, and their payments are not booked here.
 */
export async function moveAccountEmail(
  tx: Queries,
  accountId: string,
  { from, to }: { from: string; to: readonly string[] },
): Promise<void> {
  // A list must not be empty in SQL.
  const taken = await tx
    .selectFrom('accounts')
    .select('email')
    .where('email', 'in', [from, ...to])
    .execute()
  const isTaken = (wanted: string) => taken.some(({ email }) => email === wanted)
  // No mail ever arrives below .invalid.
  const email = to.find((wanted) => !isTaken(wanted)) ?? `${accountId}@unknown.invalid`
  const known = tx.updateTable('accounts').where('account_id', '=', accountId)
  await known.set({ email }).where('email', '=', from).execute()
}

/** Removes the name and the contact address of an account. */
export async function forgetContact(tx: Queries, accountId: string): Promise<void> {
  const { email } = await findAccount(tx, accountId)
  await moveAccountEmail(tx, accountId, { from: email, to: [] })
  await tx.updateTable('accounts').set({ name: 'Deleted' }).where('account_id', '=', accountId).execute()
}

export function listAccounts(db: Queries) {
  return db.selectFrom('accounts').selectAll().orderBy('account_id').execute()
}

/**
 * Accounts of every customer, newest first.
 * @param filter.search part of an e-mail address or a name, in upper or lower case, or an id
 */
export function searchAccounts(
  db: Queries,
  {
    search = '',
    status,
    external_id,
    tag,
  }: {
    search?: string | undefined
    status?: AccountTable['status'] | undefined
    external_id?: string | undefined
    tag?: string | undefined
  },
  page: Page,
) {
  const wanted = search.trim().toLowerCase()
  let matching = db.selectFrom('accounts').selectAll()
  if (status) matching = matching.where('status', '=', status)
  if (external_id !== undefined) matching = matching.where('external_id', '=', external_id)
  if (tag !== undefined) matching = matching.where(contains(JSON.stringify(tag), 'tags'))
  if (wanted)
    matching = matching.where((eb) =>
      eb.or([eb('account_id', '=', wanted), contains(wanted, 'email', 'name')]),
    )
  return pageOf(matching.orderBy('account_id', 'desc'), page)
}

/**
 * Changes the operator's own notes, tags and ids of an account.
 * @returns false if another account has the external id
 */
export async function describeAccount(
  { db, clock }: { db: Database; clock: Clock },
  accountId: string,
  change: Partial<Pick<AccountTable, 'name' | 'external_id' | 'tags' | 'notes'>>,
): Promise<boolean> {
  if (Object.keys(change).length === 0) return true
  try {
    await db.transaction().execute(async (tx) => {
      await tx.updateTable('accounts').set(change).where('account_id', '=', accountId).execute()
      await audit(tx, [accountId], { objectType: 'account', objectId: accountId, at: clock.now() })
    })
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

/** The total size of an account's servers, which is kept in the account's row. */
type Load = Record<'servers' | 'cpu' | 'ram_mb' | 'disk_gb', number>

const used = (name: keyof Load) => (db: Queries, accountId: string) =>
  sql<number>`(${db.selectFrom('accounts').select(`${name}_used`).where('account_id', '=', accountId)})`

export const serverQuotas: readonly (Quota & { name: keyof Load })[] = [
  { name: 'servers', description: 'Servers', limit: 20, unpaid: 2, example: 1, count: used('servers') },
  { name: 'cpu', description: 'Cores of all servers', limit: 64, unpaid: 8, example: 1, count: used('cpu') },
  {
    name: 'ram_mb',
    description: 'Memory of all servers in MB',
    limit: 262_144,
    unpaid: 16_384,
    example: 512,
    count: used('ram_mb'),
  },
  {
    name: 'disk_gb',
    description: 'Disk of all servers in GB',
    limit: 4096,
    unpaid: 256,
    example: 10,
    count: used('disk_gb'),
  },
]

/** Adds to the size of an account's servers, and locks its row, so that two requests can't pass a quota together. */
export function addLoad(tx: Queries, accountId: string, load: Load): Promise<void> {
  const { servers, cpu, ram_mb, disk_gb } = load
  return send(tx, addition.with(tx, { accountId, servers, cpu, ram_mb, disk_gb }))
}

const addition = prepared((db, { accountId, ...load }: { accountId: string } & Load) =>
  adding(db, accountId, load),
)

function adding(db: Queries, accountId: string, load: Load) {
  return db
    .updateTable('accounts')
    .set((eb) => ({
      servers_used: eb('servers_used', '+', load.servers),
      cpu_used: eb('cpu_used', '+', load.cpu),
      ram_mb_used: eb('ram_mb_used', '+', load.ram_mb),
      disk_gb_used: eb('disk_gb_used', '+', load.disk_gb),
    }))
    .where('account_id', '=', accountId)
}

const LIMITED = ['account_id', 'quotas', 'default_project_id'] as const
const LOADED = [...LIMITED, 'servers_used', 'cpu_used', 'ram_mb_used', 'disk_gb_used'] as const

/** An account with the size of its servers. */
export type Loaded = Limited & Pick<AccountTable, (typeof LOADED)[number]>

/** Queries an account with the facts that limit the size of its servers. */
export function loadedAccount(db: Queries, accountId: string) {
  return db
    .selectFrom('accounts')
    .where('accounts.account_id', '=', accountId)
    .select(LOADED.map((column) => `accounts.${column}` as const))
    .select([paidIn(db, accountId).as('paid'), stepsIn(db).as('steps')])
}

/** @param account the account including the new load @throws ApiError quota_exceeded */
export function requireLoad(account: Loaded, load: Load): void {
  for (const quota of serverQuotas) {
    const requested = load[quota.name]
    const used = account[`${quota.name}_used`] - requested
    if (requested > 0) requireWithin(account, quota, { used, requested })
  }
}

/** Does what addLoad does, and checks the quotas. @throws ApiError quota_exceeded */
export async function takeQuota(tx: Queries, accountId: string, load: Load): Promise<void> {
  const account = await adding(tx, accountId, load)
    .returning(LOADED)
    .returning([paidIn(tx, accountId).as('paid'), stepsIn(tx).as('steps')])
    .executeTakeFirstOrThrow()
  requireLoad(account, load)
}

const forUpdate = prepared((db, { accountId }: { accountId: string }) =>
  db
    .selectFrom('accounts')
    .select([...LIMITED, 'frozen_at', paidIn(db, accountId).as('paid'), stepsIn(db).as('steps')])
    .where('account_id', '=', accountId)
    .forNoKeyUpdate(),
)

/** Locks the account's row until the transaction ends, so that counts for a quota stay true. */
export async function lockAccount(
  tx: Queries,
  accountId: string,
): Promise<Limited & Pick<AccountTable, 'default_project_id' | 'frozen_at'>> {
  const account = await forUpdate.first(tx, { accountId })
  if (!account) throw new Error(`no such account: ${accountId}`)
  return account
}

/** Queries the accounts' rights to send mail, and to connect at all, for the configuration of the network. */
export function smtpRights(db: Queries) {
  return db.selectFrom('accounts').select(['account_id', 'is_smtp_open', 'frozen_at'])
}

/**
 * Locks the account's row and checks quotas, in one message. `requested` is by name of quota (default: 1).
 * @throws ApiError quota_exceeded
 */
export async function takeRoom(
  tx: Queries,
  accountId: string,
  quotas: readonly Quota[],
  requested: Readonly<Record<string, number>> = {},
): Promise<AccountTable & Limited> {
  // On SQLite a transaction is alone.
  if (!isSqlite(tx)) await send(tx, forUpdate.with(tx, { accountId }))
  const { account, used } = await readUse(tx, accountId, quotas)
  for (const quota of quotas)
    requireWithin(account, quota, { used: used[quota.name] ?? 0, requested: requested[quota.name] ?? 1 })
  return account
}

interface Changing<Db = Database> {
  db: Db
  clock: Clock
  /** The quotas of all features: an event of the account shows its limits. */
  quotas: readonly Quota[]
}

/** A change of an account's status, by an operator or as its last owner leaves. */
export interface StatusChange {
  /** The statuses that it may be in. */
  from: readonly AccountTable['status'][]
  to: AccountTable['status']
  reason: string
  /** True to freeze the account as it is suspended (default: false). */
  isFreezing?: boolean
}

/**
 * Changes an account's status; the service stops and resumes its servers at the next check. A frozen account
 * can only become active.
 * @returns false if it is frozen, or in another status
 */
export function changeStatus(
  { db, clock, quotas }: Changing<Queries>,
  accountId: string,
  { from, to, reason, isFreezing = false }: StatusChange,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const at = clock.now()
    const changed = tx
      .updateTable('accounts')
      .set({ status: to, status_reason: reason, status_since: at, frozen_at: isFreezing ? at : null })
      .where('account_id', '=', accountId)
      // A process of an earlier version, which knows no frozen accounts, may have made one active.
      .where((eb) =>
        to === 'active'
          ? eb.or([eb('status', 'in', from), eb('frozen_at', 'is not', null)])
          : eb.and([eb('status', 'in', from), eb('frozen_at', 'is', null)]),
      )
      .returningAll()
    const row = await changed.executeTakeFirst()
    if (row) await recordUpdate(tx, row, { quotas, reason, at })
    return row !== undefined
  })
}

/**
 * Opens or closes outgoing mail (port 25) to an account's servers; the service applies it at the next check.
 * @returns false if it is in that state already
 */
export function changeSmtp(
  { db, clock, quotas }: Changing,
  accountId: string,
  { isOpen, reason }: { isOpen: boolean; reason: string },
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable('accounts')
      .set({ is_smtp_open: Number(isOpen) })
      .where('account_id', '=', accountId)
      .where('is_smtp_open', '<>', Number(isOpen))
      .returningAll()
      .executeTakeFirst()
    if (row) await recordUpdate(tx, row, { quotas, reason, at: clock.now() })
    return row !== undefined
  })
}

/** Sets limits of an account; null returns one to the default. @returns all its limits after the change */
export function changeQuotas(
  { db, clock, quotas }: Changing,
  accountId: string,
  { change, reason }: { change: GivenLimits; reason: string },
): Promise<Record<string, number>> {
  return db.transaction().execute(async (tx) => {
    const account = tx.updateTable('accounts').where('account_id', '=', accountId)
    // The row is locked before it is read.
    const before = await account
      .set((eb) => ({ quotas: eb.ref('quotas') }))
      .returning(['account_id', 'quotas'])
      .executeTakeFirstOrThrow()
    const written = writtenLimits(change, before)
    const row = await account.set({ quotas: written }).returningAll().executeTakeFirstOrThrow()
    await recordUpdate(tx, row, { quotas, reason, at: clock.now() })
    return limitsOf(tx, row, quotas)
  })
}
