import { limitsBy, readUse } from '../accounts/quotas.ts'
import { activeAccounts } from '../accounts/status.ts'
import type { Queries } from '../database/database.ts'
import type { Quota } from '../feature.ts'
import { enqueueMail } from '../mail/queue.ts'
import { limitsMail, type NearLimit } from '../people/letters/limits.ts'
import { type Mailing, MailLoop } from '../people/letters/mail-loop.ts'
import { pageOfAccount } from '../people/letters/mails.ts'
import { RUNNING, readersOf } from '../people/membership/members.ts'
import type { WarningTable } from './tables.ts'

/** A pass over all accounts begins this long after the previous one began. */
const EVERY_MS = 10 * 60_000
/** An account gets one mail about limits within this time. */
const PAUSE_MS = 24 * 3600_000
/** Smaller limits get no mail: four fifths of such a limit is almost all of it. */
const SMALLEST = 5

interface Due {
  accountId: string
  email: string
  limits: readonly NearLimit[]
}

/**
 * Mails people once when their account uses four fifths of a limit, and again only after it used less than seven
 * tenths.
 */
export function limitMails(mailing: Mailing, quotas: readonly Quota[]): MailLoop<Due> {
  const { db } = mailing
  const pass = { after: '', beganAt: Number.NEGATIVE_INFINITY }
  return new MailLoop<Due>(mailing, {
    about: 'limits',
    due: async (now, atMost) => {
      if (pass.after === '' && Math.abs(now - pass.beganAt) < EVERY_MS) return []
      if (pass.after === '') pass.beganAt = now
      const accounts = await activeAccounts(db)
        .where('account_id', '>', pass.after)
        .orderBy('account_id')
        .limit(atMost)
        .execute()
      const noted = await notedFor(
        db,
        accounts.map(({ account_id }) => account_id),
      )
      const due: Due[] = []
      for (const { account_id: id } of accounts)
        due.push(...(await dueOf(db, { id, noted: noted.get(id) ?? [] }, quotas, now)))
      pass.after = accounts.length < atMost ? '' : (accounts.at(-1)?.account_id ?? '')
      return due
    },
    mail: (tx, due) => mail(tx, mailing, due),
  })
}

const kindOf = (name: string) => `limit_${name}` as const

type Noted = Pick<WarningTable, 'account_id' | 'kind' | 'since' | 'sent_at'>

/** The limits about which mails were sent, by account. */
async function notedFor(db: Queries, accountIds: readonly string[]): Promise<Map<string, Noted[]>> {
  if (accountIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('warnings')
    .select(['account_id', 'kind', 'since', 'sent_at'])
    .where('account_id', 'in', accountIds)
    .where('kind', 'like', kindOf('%'))
    .execute()
  return Map.groupBy(rows, ({ account_id }) => account_id)
}

/**
 * Finds the limits that an account has nearly reached, and forgets the mails about limits that it is far from
 * again.
 */
async function dueOf(
  db: Queries,
  { id: accountId, noted }: { id: string; noted: readonly Noted[] },
  quotas: readonly Quota[],
  now: number,
): Promise<Due[]> {
  const { account, used } = await readUse(db, accountId, quotas)
  const limits = Object.entries(limitsBy(account, quotas)).map(([name, { limit }]) => {
    return { name, limit, used: used[name] ?? 0 }
  })
  const isNear = ({ limit, used }: NearLimit) => limit >= SMALLEST && used * 5 >= limit * 4
  const far = limits.filter(({ limit, used }) => used * 10 < limit * 7).map(({ name }) => kindOf(name))
  const ended = noted.filter(({ kind }) => far.some((one) => one === kind)).map(({ kind }) => kind)
  if (ended.length > 0)
    await db.deleteFrom('warnings').where('account_id', '=', accountId).where('kind', 'in', ended).execute()
  if (noted.some(({ sent_at }) => Math.abs(now - sent_at) < PAUSE_MS)) return []
  const isNews = ({ name, limit }: NearLimit) =>
    !noted.some(({ kind, since }) => kind === kindOf(name) && since >= limit)
  const news = limits.filter((limit) => isNear(limit) && isNews(limit))
  return news.length > 0 ? [{ accountId, email: account.email, limits: news }] : []
}

/** Notes the limits, and queues a mail to each person who did not mute such mails. */
async function mail(tx: Queries, mailing: Mailing, { accountId, email, limits }: Due): Promise<void> {
  const now = mailing.clock.now()
  const claimed: NearLimit[] = []
  for (const one of limits) if (await claim(tx, accountId, one, now)) claimed.push(one)
  if (claimed.length === 0) return
  const link = pageOfAccount(mailing.siteUrl(), '/account', accountId)
  for (const reader of await readersOf(tx, accountId, RUNNING, 'limits'))
    await enqueueMail(tx, mailing, limitsMail(reader, { account: email, limits: claimed }, link))
}

/** @returns false if another process has noted the limit already */
async function claim(tx: Queries, account_id: string, { name, limit }: NearLimit, now: number) {
  const noted = { since: limit, sent_at: now }
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('warnings')
    .values({ account_id, kind: kindOf(name), ...noted })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'kind']).doUpdateSet(noted).where('warnings.since', '<', limit),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n
}
