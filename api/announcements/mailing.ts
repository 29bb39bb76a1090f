import { openAccounts } from '../accounts/status.ts'
import { attemptAll } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { countMails, enqueueMail } from '../mail/queue.ts'
import { announcementMail } from '../people/letters/announcements.ts'
import { ownersAfter } from '../people/membership/owners.ts'
import type { Secrets } from '../secrets.ts'
import { accountsIn } from '../servers/queries.ts'
import { type Announcing, openOnes, zonesIn } from './announcements.ts'
import type { AnnouncementTable } from './tables.ts'

interface Mailing extends Announcing {
  secrets: Secrets
  /** Address at which people open the console. */
  siteUrl: () => string
  /** Called after mails were queued. */
  mailed: () => void
}

const AT_ONCE = 100
/** Announcements must not fill up the mail queue, because sign-in links wait in it, too. */
const MOST_WAITING = 1_000

/**
 * Mails open announcements to the owners of the accounts that they concern, some at a time. The last mailed address is
 * saved in the transaction that queues the mails, so each person gets one mail even if a process dies.
 * An announcement that fails keeps no other from being mailed.
 * @throws as attemptAll, once the others are done
 */
export async function mailAnnouncements(options: Mailing): Promise<void> {
  const { db, clock, mailed } = options
  const due = await unmailed.all(db, { now: clock.now() })
  await attemptAll(
    due.map((one) => async () => {
      if ((await countMails(db)) < MOST_WAITING && (await mailSome(options, one))) mailed()
    }),
  )
}

const unmailed = prepared((db, { now }: { now: number }) =>
  openOnes(db, now).selectAll().where('mailed_at', 'is', null).orderBy('announcement_id'),
)

/** @returns true if mails were queued */
async function mailSome(options: Mailing, due: AnnouncementTable): Promise<boolean> {
  const { db, clock, catalog, siteUrl } = options
  const zones = zonesIn(due.zones)
  const link = new URL('/', siteUrl())
  return db.transaction().execute(async (tx) => {
    const all = openAccounts(tx)
    const concerned = zones.length === 0 ? all : all.where('account_id', 'in', accountsIn(tx, zones))
    const readers = await ownersAfter(tx, concerned, due.mailed_to, AT_ONCE)
    const last = readers.at(-1)
    const { numUpdatedRows } = await tx
      .updateTable('announcements')
      .set(last ? { mailed_to: last.email } : { mailed_at: clock.now() })
      .where('announcement_id', '=', due.announcement_id)
      .where('mailed_to', '=', due.mailed_to)
      .where('mailed_at', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    const titles = zones.map((slug) => catalog.zones.find((zone) => zone.zone_slug === slug)?.title ?? slug)
    const { kind, starts_at: startsAt, ends_at: endsAt, text_en: en, text_ru: ru } = due
    const facts = { kind, startsAt, endsAt, text: { en, ru }, zones: titles }
    for (const reader of readers) await enqueueMail(tx, options, announcementMail(reader, facts, link))
    return readers.length > 0
  })
}
