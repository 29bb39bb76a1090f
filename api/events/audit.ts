import type { Database, Queries } from '../database/database.ts'
import { type Page, pageOf } from '../database/page.ts'

/** Who changed what in an account, newest first. */
export function listAudit(db: Queries, accountId: string, page: Page) {
  const ofAccount = db.selectFrom('audit').selectAll().where('account_id', '=', accountId)
  return pageOf(ofAccount.orderBy('audit_id', 'desc'), page)
}

/** Deletes some of the entries from before a moment; @returns how many */
export function forgetAudit(db: Database, before: number, limit: number): Promise<number> {
  return forget(db, ids(db).where('created_at', '<', before).limit(limit))
}

/** Of an account's entries deletes some beyond the newest; @returns how many */
export function forgetExcessAudit(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const newest = ids(db).where('account_id', '=', accountId).orderBy('audit_id', 'desc')
  return forget(db, newest.limit(limit).offset(most))
}

function ids(db: Database) {
  return db.selectFrom('audit').select('audit_id')
}

async function forget(db: Database, old: ReturnType<typeof ids>): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('audit').where('audit_id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}
