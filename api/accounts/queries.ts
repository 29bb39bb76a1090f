import type { Queries } from '../database/database.ts'

/** Queries the accounts that were created since a moment. */
export function accountsSince(db: Queries, moment: number) {
  return db.selectFrom('accounts').select(['account_id', 'created_at']).where('created_at', '>=', moment)
}

/** Queries the existing accounts among these ids, in no order. */
export function accountsByIds(db: Queries, accountIds: readonly string[]) {
  if (accountIds.length === 0) return Promise.resolve([])
  return db
    .selectFrom('accounts')
    .select(['account_id', 'email', 'status', 'frozen_at'])
    .where('account_id', 'in', accountIds)
    .execute()
}
