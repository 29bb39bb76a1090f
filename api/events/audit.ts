import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { type Page, pageOf } from '../database/page.ts'

/** Lists the audit entries of an account, newest first. */
export function listAudit(db: Queries, accountId: string, page: Page) {
  const ofAccount = db.selectFrom('audit').selectAll().where('account_id', '=', accountId)
  return pageOf(ofAccount.orderBy('audit_id', 'desc'), page)
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
