import type { Static } from 'typebox'
import { v7 as uuid } from 'uuid'
import { lockAccount } from '../accounts/accounts.ts'
import { type Limited, requireRoom } from '../accounts/quotas.ts'
import type { Capacity } from '../catalog/capacity.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { labelled, labelsColumn } from '../database/labels.ts'
import { countIn, type Page, pageOf, preparedPage } from '../database/page.ts'
import { record } from '../events/outbox.ts'
import type { Quota } from '../feature.ts'
import { ApiError, bodyIssue, found, invalid, type ProblemType } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { firewallsOf, type Protected, requireProtectable } from './protection.ts'
import { readRules } from './rules.ts'
import {
  type FirewallCreate,
  type FirewallQuery,
  type FirewallUpdate,
  firewallProblems,
  MOST_SERVERS,
} from './schema.ts'
import type { FirewallTable } from './tables.ts'
import { type FirewallRow, firewallView } from './view.ts'

export interface FirewallsOptions {
  db: Database
  clock: Clock
  capacity: Capacity
  /** The servers of an account that are not gone. */
  protectedServers: (db: Queries, accountId: string) => Promise<Protected[]>
  /** The error for a server that does not exist. */
  serverNotFound: ProblemType
  /** Called when the rules of servers may have changed. */
  changed: (serverIds: readonly string[]) => void
}

/** Selects the firewalls of a server, and those with labels. */
type Filter = Static<typeof FirewallQuery>

/** Newest first. */
export async function listFirewalls(
  { db, protectedServers }: FirewallsOptions,
  accountId: string,
  { server_id: serverId, label }: Filter,
  page: Page,
): Promise<{ items: FirewallRow[]; total: number }> {
  const find = async () => {
    if (serverId === undefined && label === undefined) return wholePage(db, { accountId }, page)
    const wanted = labelled(newest(db, { accountId }), label)
    if (serverId === undefined) return pageOf(wanted, page)
    const server = (await protectedServers(db, accountId)).filter(({ server_id }) => server_id === serverId)
    const own = (await firewallsOf(db, server)).get(serverId) ?? []
    const ids = own.map(({ firewall_id }) => firewall_id)
    return pageOf(wanted.where('firewall_id', 'in', ids.length > 0 ? ids : ['']), page)
  }
  const { items, total } = await find()
  return { items: await withServers(db, items), total }
}

function newest(db: Queries, { accountId }: { accountId: string }) {
  const own = db.selectFrom('firewalls').selectAll().where('account_id', '=', accountId)
  return own.orderBy('firewall_id', 'desc')
}

const wholePage = preparedPage(newest)

export async function findFirewall(
  db: Queries,
  accountId: string,
  firewallId: string,
): Promise<FirewallRow | undefined> {
  const rows = await db
    .selectFrom('firewalls')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('firewall_id', '=', firewallId)
    .execute()
  return (await withServers(db, rows))[0]
}

export const firewallQuota: Quota = {
  name: 'firewalls',
  description: 'Firewalls',
  limit: 20,
  example: 1,
  count: (db, accountId) => countIn(db.selectFrom('firewalls').where('account_id', '=', accountId)),
}

/** @throws ApiError validation_failed, quota_exceeded, firewall_limit_reached, not_supported */
export async function createFirewall(
  options: FirewallsOptions,
  accountId: string,
  { name, rules = [], label_selector = null, labels = {} }: FirewallCreate,
  remember: Remember,
): Promise<FirewallRow> {
  const now = options.clock.now()
  const row = {
    firewall_id: uuid(),
    account_id: accountId,
    name,
    rules: JSON.stringify(readRules(rules)),
    label_selector,
    labels: JSON.stringify(labels),
    created_at: now,
    updated_at: now,
  }
  return change(options, accountId, async (tx, account) => {
    await requireRoom(tx, account, firewallQuota)
    await tx.insertInto('firewalls').values(row).execute()
    await remember(tx, row.firewall_id)
    return tell(tx, 'firewall.created', { ...row, serverIds: [] }, now)
  })
}

/**
 * @param check called with the current firewall, once it is locked
 * @throws ApiError validation_failed, firewall_not_found, firewall_limit_reached, not_supported
 */
export async function updateFirewall(
  options: FirewallsOptions,
  { account_id, firewall_id }: FirewallRow,
  { rules, labels, ...rest }: FirewallUpdate,
  check: (current: FirewallRow) => void,
): Promise<FirewallRow> {
  const written = {
    ...rest,
    ...labelsColumn(labels),
    ...(rules && { rules: JSON.stringify(readRules(rules)) }),
  }
  return change(options, account_id, async (tx) => {
    check(found(await findFirewall(tx, account_id, firewall_id), firewallProblems.firewall_not_found))
    return write(tx, options, account_id, firewall_id, written)
  })
}

/** @throws ApiError validation_failed, firewall_not_found, firewall_limit_reached, not_supported */
export async function attachFirewall(
  options: FirewallsOptions,
  { account_id, firewall_id }: FirewallRow,
  serverIds: readonly string[],
  remember: Remember,
): Promise<FirewallRow> {
  return change(options, account_id, async (tx) => {
    const known = new Set((await options.protectedServers(tx, account_id)).map(({ server_id }) => server_id))
    const issues = serverIds.flatMap((id, at) =>
      known.has(id) ? [] : [bodyIssue(`server_ids.${at}`, 'not_found', `No such server: ${id}.`)],
    )
    if (issues.length > 0) throw invalid(issues)
    await tx
      .insertInto('firewall_servers')
      .values(serverIds.map((server_id) => ({ firewall_id, server_id })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const firewall = await write(tx, options, account_id, firewall_id, {})
    if (firewall.serverIds.length > MOST_SERVERS)
      throw new ApiError(
        firewallProblems.firewall_limit_reached,
        `A firewall can be attached to ${MOST_SERVERS} servers; this would be ${firewall.serverIds.length}. Use a label selector, or a second firewall.`,
      )
    await remember(tx, firewall_id)
    return firewall
  })
}

/** @throws ApiError firewall_not_found */
export async function detachFirewall(
  options: FirewallsOptions,
  { account_id, firewall_id }: FirewallRow,
  serverId: string,
): Promise<void> {
  await change(options, account_id, async (tx) => {
    await tx
      .deleteFrom('firewall_servers')
      .where('firewall_id', '=', firewall_id)
      .where('server_id', '=', serverId)
      .execute()
    return write(tx, options, account_id, firewall_id, {})
  })
}

/** @throws ApiError firewall_in_use */
export async function deleteFirewall(options: FirewallsOptions, firewall: FirewallRow): Promise<void> {
  const { account_id, firewall_id } = firewall
  await change(options, account_id, async (tx) => {
    const having = await firewallsOf(tx, await options.protectedServers(tx, account_id))
    const count = [...having.values()].filter((own) =>
      own.some((one) => one.firewall_id === firewall_id),
    ).length
    if (count > 0)
      throw new ApiError(
        firewallProblems.firewall_in_use,
        `The firewall still has ${count} ${count === 1 ? 'server' : 'servers'}, which would be unprotected without it. Detach it first, and set its label_selector to null.`,
      )
    const { numDeletedRows } = await tx
      .deleteFrom('firewalls')
      .where('firewall_id', '=', firewall_id)
      .executeTakeFirst()
    if (numDeletedRows > 0n) await tell(tx, 'firewall.deleted', firewall, options.clock.now())
  })
}

/** Makes a change, checks its effect on all servers, and reports it. The account stays locked meanwhile. */
async function change<Result>(
  { db, capacity, protectedServers, changed }: FirewallsOptions,
  accountId: string,
  make: (tx: Queries, account: Limited) => Promise<Result>,
): Promise<Result> {
  const { result, all } = await db.transaction().execute(async (tx) => {
    const result = await make(tx, await lockAccount(tx, accountId))
    const all = await protectedServers(tx, accountId)
    await requireProtectable(tx, capacity, all)
    return { result, all }
  })
  changed(all.map(({ server_id }) => server_id))
  return result
}

async function write(
  tx: Queries,
  { clock }: FirewallsOptions,
  accountId: string,
  firewallId: string,
  changes: Partial<FirewallTable>,
): Promise<FirewallRow> {
  const updated_at = clock.now()
  await tx
    .updateTable('firewalls')
    .set({ ...changes, updated_at })
    .where('firewall_id', '=', firewallId)
    .execute()
  // The firewall may have been deleted since it was found.
  const row = found(await findFirewall(tx, accountId, firewallId), firewallProblems.firewall_not_found)
  return tell(tx, 'firewall.updated', row, updated_at)
}

async function tell(
  tx: Queries,
  type: 'firewall.created' | 'firewall.updated' | 'firewall.deleted',
  row: FirewallRow,
  at: number,
): Promise<FirewallRow> {
  await record(tx, [{ accountId: row.account_id, type, data: firewallView(row), at }])
  return row
}

async function withServers(db: Queries, rows: readonly FirewallTable[]): Promise<FirewallRow[]> {
  if (rows.length === 0) return []
  const attached = await db
    .selectFrom('firewall_servers')
    .selectAll()
    .where(
      'firewall_id',
      'in',
      rows.map(({ firewall_id }) => firewall_id),
    )
    .orderBy('server_id')
    .execute()
  const ids = Map.groupBy(attached, ({ firewall_id }) => firewall_id)
  return rows.map((row) => ({
    ...row,
    serverIds: (ids.get(row.firewall_id) ?? []).map(({ server_id }) => server_id),
  }))
}
