import { sql } from 'kysely'
import { findAccount } from '../accounts/accounts.ts'
import type { Queries } from '../database/database.ts'
import type { Mail } from '../mail/mailer.ts'
import { enqueueMail } from '../mail/queue.ts'
import { type Mailing, MailLoop } from '../people/letters/mail-loop.ts'
import { pageOfAccount } from '../people/letters/mails.ts'
import {
  type BackupFault,
  backupFailedMail,
  type Down,
  type Hold,
  type ServiceFacts,
  type ServiceMailKind,
  serverDownMail,
  serverHeldMail,
} from '../people/letters/servers.ts'
import { RUNNING, readersOf } from '../people/membership/members.ts'
import type { PersonTable } from '../people/person/tables.ts'
import { failedBackups, takeFailedBackups } from '../snapshots/backups.ts'
import { forget } from './store.ts'
import type { ServerTable } from './tables.ts'

/** Mails wait this long: a host may come back, and all servers of a lost host then share one mail. */
const SETTLED_MS = 2 * 60_000
/** The time between two mails of a kind to an account. */
const EVERY_MS = { server_down: 3600_000, backup_failed: 24 * 3600_000, server_held: 0 }

interface Due {
  accountId: string
  kind: ServiceMailKind
}

/**
 * Mails people about servers that are down or suspended by the operator, and about failed backups: one mail for an
 * account.
 */
export function serviceMails(mailing: Mailing): MailLoop<Due> {
  const { db, clock } = mailing
  return new MailLoop<Due>(mailing, {
    about: 'servers',
    due: async (now, atMost) => [
      ...(await serversDue(db, now, atMost)),
      ...(await backupsDue(db, now, atMost)),
    ],
    mail: async (tx, { accountId, kind }) => {
      const queue = (facts: { servers: readonly unknown[] }, mail: (to: Reader) => Mail) =>
        facts.servers.length > 0 ? send(tx, mailing, { accountId, kind, now: clock.now() }, mail) : undefined
      const { email: account } = await findAccount(tx, accountId)
      const link = pageOfAccount(mailing.siteUrl(), '/servers', accountId)
      if (kind === 'server_down') {
        const facts = { account, servers: await takeDown(tx, accountId) }
        await queue(facts, (to) => serverDownMail(to, facts, link))
      } else if (kind === 'server_held') {
        const facts = { account, servers: await takeHeld(tx, accountId) }
        await queue(facts, (to) => serverHeldMail(to, facts, link))
      } else {
        const facts = { account, servers: await takeBackups(tx, accountId) }
        await queue(facts, (to) => backupFailedMail(to, facts, link))
      }
    },
  })
}

type Reader = Pick<PersonTable, 'email' | 'language'>

/** Notes the time, and queues a mail to each person who did not mute such mails. */
async function send(
  tx: Queries,
  mailing: Mailing,
  { accountId, kind, now }: Due & { now: number },
  mail: (to: Reader) => Mail,
): Promise<void> {
  const noted = { since: now, sent_at: now }
  await tx
    .insertInto('warnings')
    .values({ account_id: accountId, kind, ...noted })
    .onConflict((conflict) => conflict.columns(['account_id', 'kind']).doUpdateSet(noted))
    .execute()
  for (const reader of await readersOf(tx, accountId, RUNNING, MUTED_BY[kind]))
    await enqueueMail(tx, mailing, mail(reader))
}

/** Nobody can mute mails about what the operator does to a server. */
const MUTED_BY = { server_down: 'servers', backup_failed: 'backups', server_held: undefined } as const

/** Queries whether an account recently got a mail of this kind. */
function mailedLately(
  db: Queries,
  account: 'servers.account_id' | 'snapshots.account_id',
  kind: ServiceMailKind,
  now: number,
) {
  return db
    .selectFrom('warnings')
    .select('kind')
    .whereRef('warnings.account_id', '=', sql.ref(account))
    .where('kind', '=', kind)
    .where('sent_at', '>', now - EVERY_MS[kind])
}

/** The accounts with servers that are down, or that the operator has suspended or resumed: one query for both. */
async function serversDue(db: Queries, now: number, atMost: number): Promise<Due[]> {
  const down = db
    .selectFrom('servers')
    .select(({ fn }) => ['account_id', fn.min<number>('down_at').as('since')])
    .select(sql<'server_down' | 'server_held'>`'server_down'`.as('kind'))
    .where('down_at', '<=', now - SETTLED_MS)
    .where(({ not, exists }) => not(exists(mailedLately(db, 'servers.account_id', 'server_down', now))))
    .groupBy('account_id')
  const held = db
    .selectFrom('servers')
    .select(({ fn }) => ['account_id', fn.min<number>('hold_changed_at').as('since')])
    .select(sql<'server_down' | 'server_held'>`'server_held'`.as('kind'))
    .where('hold_changed_at', 'is not', null)
    .groupBy('account_id')
  const rows = await db
    .selectFrom(down.unionAll(held).as('due'))
    .select(['account_id', 'kind'])
    .orderBy('since')
    .limit(atMost)
    .execute()
  return rows.map(({ account_id: accountId, kind }) => ({ accountId, kind }))
}

async function backupsDue(db: Queries, now: number, atMost: number): Promise<Due[]> {
  const rows = await failedBackups(db)
    .where(({ not, exists }) => not(exists(mailedLately(db, 'snapshots.account_id', 'backup_failed', now))))
    .orderBy('since')
    .limit(atMost)
    .execute()
  return rows.map(({ account_id: accountId }) => ({ accountId, kind: 'backup_failed' }))
}

/**
 * Reads and clears the marks of an account's servers that are down. Skips those that were stopped or deleted
 * meanwhile.
 */
async function takeDown(tx: Queries, accountId: string): Promise<ServiceFacts<Down>['servers']> {
  const rows = await forget(tx, 'down_at', accountId)
  return rows
    .toSorted((one, other) => one.server_id.localeCompare(other.server_id))
    .flatMap((row) => {
      const state = row.deleted_at === null ? downOf(row) : null
      return state === null ? [] : [{ address: row.ipv4 ?? row.server_id, state }]
    })
}

/**
 * Reads and clears the marks of an account's servers that the operator has suspended or resumed. Skips deleted
 * servers.
 */
async function takeHeld(tx: Queries, accountId: string): Promise<ServiceFacts<Hold>['servers']> {
  const rows = await forget(tx, 'hold_changed_at', accountId)
  return rows
    .filter(({ deleted_at }) => deleted_at === null)
    .toSorted((one, other) => one.server_id.localeCompare(other.server_id))
    .map(({ server_id, ipv4, suspension_reason: state }) => ({ address: ipv4 ?? server_id, state }))
}

/** @returns the state to report; null if the server need not run any more */
function downOf({
  status,
  status_reason: reason,
}: Pick<ServerTable, 'status' | 'status_reason'>): Down | null {
  if (status === 'running') return reason === 'host_unavailable' ? 'unreachable' : 'restarted'
  if (status === 'starting' || status === 'rebooting') return 'restarted'
  // A start that failed leaves its code; a customer's stop leaves none.
  if (status === 'stopped') return reason === null || reason === 'guest_shutdown' ? null : 'off'
  if (status !== 'error') return null
  return reason === 'crash_loop' || reason === 'disk_lost' ? reason : 'off'
}

/** Reads and clears the failed backups of an account, and returns each fault of an existing server once. */
async function takeBackups(tx: Queries, accountId: string): Promise<ServiceFacts<BackupFault>['servers']> {
  const failed = await takeFailedBackups(tx, accountId)
  if (failed.length === 0) return []
  const rows = await tx
    .selectFrom('servers')
    .select(['server_id', 'ipv4'])
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .orderBy('server_id')
    .execute()
  return rows.flatMap(({ server_id, ipv4 }) => {
    const theirs = failed.filter(({ serverId }) => serverId === server_id)
    const faults = [...new Set(theirs.map(({ fault }) => fault))]
    return faults.map((state) => ({ address: ipv4 ?? server_id, state }))
  })
}
