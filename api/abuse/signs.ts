import { v7 as uuid } from 'uuid'
import { accountsByIds } from '../accounts/queries.ts'
import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { contains, type Page, pageOf } from '../database/page.ts'
import { isoTime } from '../http/contract/fields.ts'
import { namesOfServers } from '../servers/queries.ts'
import { GAP_MS, kinds, type SignKind } from './kinds.ts'
import { remedyFor } from './remedies.ts'
import type { AbuseSign } from './schema.ts'
import type { SignTable } from './tables.ts'

/** A sign as it was seen. */
export interface Found {
  kind: SignKind
  subject: string
  accountId: string | null
  /** Ids of the accounts concerned, newest first. */
  accounts: readonly string[]
  /** In the unit of the kind. */
  figure: number
  since: number
  seenAt: number
}

const AT_ONCE = 500
/** The number of accounts that a reply describes. */
const SHOWN_ACCOUNTS = 20

/** Stores signs: one that continues keeps its start time, any other starts over. */
export async function noteSigns(db: Queries, found: readonly Found[]): Promise<void> {
  for (let at = 0; at < found.length; at += AT_ONCE)
    await db
      .insertInto('signs')
      .values(found.slice(at, at + AT_ONCE).map(rowOf))
      .onConflict((conflict) =>
        conflict.columns(['kind', 'subject']).doUpdateSet((eb) => {
          const isAnew = eb('signs.seen_at', '<', eb('excluded.since', '-', GAP_MS))
          const lower = eb.or([isAnew, eb('signs.peak', '<', eb.ref('excluded.figure'))])
          return {
            ...{ account_id: eb.ref('excluded.account_id'), accounts: eb.ref('excluded.accounts') },
            ...{ seen_at: eb.ref('excluded.seen_at'), figure: eb.ref('excluded.figure') },
            since: eb.case().when(isAnew).then(eb.ref('excluded.since')).else(eb.ref('signs.since')).end(),
            peak: eb.case().when(lower).then(eb.ref('excluded.figure')).else(eb.ref('signs.peak')).end(),
          }
        }),
      )
      .execute()
}

function rowOf({ kind, subject, accountId, accounts, figure, since, seenAt }: Found): SignTable {
  const about = { sign_id: uuid(), kind, subject, account_id: accountId, accounts: JSON.stringify(accounts) }
  return { ...about, since, seen_at: seenAt, figure, peak: figure }
}

export interface SignFilter {
  kind?: SignKind | undefined
  account_id?: string | undefined
}

/** Lists the signs of all accounts, last seen first; those that have not lasted long enough are left out. */
export async function listSigns(
  db: Queries,
  { kind, account_id }: SignFilter,
  page: Page,
): Promise<{ items: AbuseSign[]; total: number }> {
  let wanted = db.selectFrom('signs').selectAll().orderBy('seen_at', 'desc').orderBy('sign_id', 'desc')
  const { lastsMs } = kinds.cpu_at_limit
  wanted = wanted.where((eb) =>
    eb.or([eb('kind', '<>', 'cpu_at_limit'), eb('since', '<=', eb('seen_at', '-', lastsMs))]),
  )
  if (kind !== undefined) wanted = wanted.where('kind', '=', kind)
  if (account_id !== undefined) wanted = wanted.where(contains(JSON.stringify(account_id), 'accounts'))
  const { items, total } = await pageOf(wanted, page)
  return { items: await viewsOf(db, items), total }
}

async function viewsOf(db: Queries, rows: readonly SignTable[]): Promise<AbuseSign[]> {
  const shown = rows.map((row) => ({ row, ids: idsOf(row).slice(0, SHOWN_ACCOUNTS) }))
  const known = await accountsByIds(db, [...new Set(shown.flatMap(({ ids }) => ids))])
  const accounts = new Map(known.map((account) => [account.account_id, account]))
  const servers = rows.flatMap(({ kind, subject }) => (kinds[kind].subject === 'server' ? [subject] : []))
  const names = await namesOfServers(db, servers)
  return shown.map(({ row, ids }) => {
    const { subject: about, unit } = kinds[row.kind]
    return {
      sign_id: row.sign_id,
      kind: row.kind,
      accounts: ids.flatMap((id) => {
        const account = accounts.get(id)
        if (!account) return []
        const { account_id, email, status, frozen_at } = account
        return [{ account_id, email, status, is_frozen: frozen_at !== null }]
      }),
      server_id: about === 'server' ? row.subject : null,
      server_name: names.get(row.subject) ?? null,
      network: about === 'network' ? row.subject : null,
      since: isoTime(row.since),
      last_seen_at: isoTime(row.seen_at),
      figure: row.figure,
      peak: row.peak,
      unit,
      remedy: remedyFor(row, ids[0] ?? ''),
    }
  })
}

function idsOf({ accounts }: SignTable): string[] {
  const ids: string[] = JSON.parse(accounts)
  return ids
}

/** Deletes at most `limit` signs that were last seen before a moment. @returns the number deleted */
export function forgetSigns(db: Database, before: number, limit: number): Promise<number> {
  return deleteFound(db, 'signs', 'sign_id', ids(db).where('seen_at', '<', before).limit(limit))
}

/** Deletes some of the signs of an account's servers beyond the newest. @returns the number deleted */
export function forgetExcessSigns(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const newest = ids(db).where('account_id', '=', accountId).orderBy('seen_at', 'desc')
  return deleteFound(db, 'signs', 'sign_id', newest.limit(limit).offset(most))
}

function ids(db: Database) {
  return db.selectFrom('signs').select('sign_id')
}
