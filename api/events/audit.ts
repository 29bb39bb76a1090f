import type { Database, Queries } from '../database/database.ts'
import type { Page } from '../http/paging.ts'

/** Who changed what in an account, newest first. */
export async function listAudit(db: Queries, accountId: string, page: Page) {
  const ofAccount = db.selectFrom('audit').where('account_id', '=', accountId)
  const [items, { total }] = await Promise.all([
    ofAccount.selectAll().orderBy('audit_id', 'desc').limit(page.limit).offset(page.offset).execute(),
    ofAccount.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { items, total }
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
