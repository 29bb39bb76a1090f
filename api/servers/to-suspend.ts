import { closedAccounts, frozenAccounts, heldAccounts } from '../accounts/status.ts'
import { accountsInCredit, accountsOverdue } from '../billing/ledger.ts'
import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { suspendableIn } from './states.ts'
import { alive } from './store.ts'

// These queries run every few seconds, and mostly find nothing: each is compiled once.

/** Lists billed servers of accounts whose grace period began before a moment, and so is over. */
export function listOverdue(db: Queries, moment: number) {
  return overdue.all(db, { moment })
}

const overdue = prepared((db, { moment }: { moment: number }) =>
  alive(db)
    .innerJoin(accountsOverdue(db, moment).as('overdue'), 'overdue.account_id', 'servers.account_id')
    .select('server_id')
    .where('billed_since', 'is not', null)
    .where('status', 'in', suspendableIn),
)

/** Servers to suspend because their account is suspended or closed. */
export function listHeld(db: Queries) {
  return held.all(db, {})
}

const held = prepared((db) =>
  alive(db)
    .select('server_id')
    .where('account_id', 'in', heldAccounts(db))
    .where('status', 'in', suspendableIn),
)

/**
 * Lists servers that the operator wants suspended, whatever the state of their account, and that are not
 * suspended yet.
 */
export function listHeldAlone(db: Queries) {
  return heldAlone.all(db, {})
}

const heldAlone = prepared((db) =>
  alive(db)
    .select('server_id')
    .where('suspension_reason', 'is not', null)
    .where('status', 'in', suspendableIn),
)

/** Suspended servers of active accounts that have money. */
export function listResumable(db: Queries) {
  return resumable.all(db, {})
}

const resumable = prepared((db) =>
  alive(db)
    .innerJoin(accountsInCredit(db).as('paying'), 'paying.account_id', 'servers.account_id')
    .select(['server_id', 'servers.account_id', 'status_reason'])
    .where('status', '=', 'suspended')
    .where('suspension_reason', 'is', null)
    .where('servers.account_id', 'not in', heldAccounts(db)),
)

/**
 * Suspended servers that are due for deletion at a moment, or have no time of deletion yet.
 * @param onlyClosed whether to list only those of closed accounts
 */
export function listDoomed(db: Queries, moment: number, { onlyClosed }: { onlyClosed: boolean }) {
  return onlyClosed ? doomedOfClosed.all(db, { moment }) : doomed.all(db, { moment })
}

const doomedOfClosed = prepared((db, { moment }: { moment: number }) =>
  due(db, moment).where('account_id', 'in', closedAccounts(db)),
)

/** A customer can't resume a server that the operator keeps suspended. */
const doomed = prepared((db, { moment }: { moment: number }) =>
  due(db, moment)
    .where('suspension_reason', 'is', null)
    .union(due(db, moment).where('account_id', 'in', closedAccounts(db))),
)

function due(db: Queries, moment: number) {
  return alive(db)
    .select('server_id')
    .where('status', '=', 'suspended')
    .where('account_id', 'not in', frozenAccounts(db))
    .where((eb) => eb.or([eb('delete_at', 'is', null), eb('delete_at', '<=', moment)]))
}

/** Servers with a time of deletion: those of an account (default: of all accounts that are not closed). */
export function listReprieved(db: Queries, accountId?: string) {
  if (accountId === undefined) return reprieved.all(db, {})
  const own = alive(db).select('server_id').where('delete_at', 'is not', null)
  return own.where('account_id', '=', accountId).where('status', '<>', 'deleting').execute()
}

const reprieved = prepared((db) =>
  alive(db)
    .select('server_id')
    .where('delete_at', 'is not', null)
    .where('account_id', 'not in', closedAccounts(db)),
)
