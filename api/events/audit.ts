import type { Database, Lent, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { type Page, pageOf } from '../database/page.ts'

/** Lists the audit entries of an account, newest first. */
export function listAudit(db: Queries, accountId: string, page: Page) {
  const ofAccount = db.selectFrom('audit').selectAll().where('account_id', '=', accountId)
  return pageOf(ofAccount.orderBy('audit_id', 'desc'), page)
}

/**
 * The address at which each of these accounts was created, as its first entry says; null if an operator created it, or
 * the entry is gone.
 */
export function firstAddresses(
  db: Queries,
  accounts: Lent<{ account_id: string; created_at: number }>,
): Promise<{ account_id: string; created_at: number; address: string | null }[]> {
  return db
    .selectFrom(accounts(db).as('accounts'))
    .select((eb) => [
      'accounts.account_id',
      'accounts.created_at',
      eb
        .selectFrom((within) =>
          within
            .selectFrom('audit')
            .select(['address', 'audit.created_at as written_at'])
            .whereRef('audit.account_id', '=', 'accounts.account_id')
            .orderBy('audit_id')
            .limit(1)
            .as('first'),
        )
        .select('first.address')
        .whereRef('first.written_at', '=', 'accounts.created_at')
        .as('address'),
    ])
    .execute()
}

/** Deletes some of the entries from before a moment. @returns the number deleted */
export function forgetAudit(db: Database, before: number, limit: number): Promise<number> {
  return deleteFound(db, 'audit', 'audit_id', ids(db).where('created_at', '<', before).limit(limit))
}

/** Deletes some of an account's entries beyond the newest. @returns the number deleted */
export function forgetExcessAudit(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const newest = ids(db).where('account_id', '=', accountId).orderBy('audit_id', 'desc')
  return deleteFound(db, 'audit', 'audit_id', newest.limit(limit).offset(most))
}

function ids(db: Database) {
  return db.selectFrom('audit').select('audit_id')
}
