import type { Database, Queries } from '../database/database.ts'
import { type Page, pageOf } from '../database/page.ts'

/** Who changed what in an account, newest first. */
export function listAudit(db: Queries, accountId: string, page: Page) {
  const ofAccount = db.selectFrom('audit').selectAll().where('account_id', '=', accountId)
  return pageOf(ofAccount.orderBy('audit_id', 'desc'), page)
}

/** Deletes some of the entries from before a moment; @returns how many */
export async function forgetAudit(db: Database, before: number, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('audit')
    .where('audit_id', 'in', (eb) =>
      eb.selectFrom('audit as old').select('old.audit_id').where('old.created_at', '<', before).limit(limit),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Of an account's entries deletes some beyond the newest; @returns how many */
export async function forgetExcessAudit(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('audit')
    .where('audit_id', 'in', (eb) =>
      eb
        .selectFrom('audit as old')
        .select('old.audit_id')
        .where('old.account_id', '=', accountId)
        .orderBy('old.audit_id', 'desc')
        .limit(limit)
        .offset(most),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}
