import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { AccountTable } from '../database/schema.ts'
import { record } from '../events/outbox.ts'
import { type Quotas, quotaExceeded, quotasOf } from './quotas.ts'
import { projectView } from './view.ts'

/**
 * Creates an account with its default project.
 * @returns the account's id, or null where the e-mail address is taken
 */
export async function createAccount(
  db: Database,
  clock: Clock,
  account: { email: string; name: string },
): Promise<string | null> {
  const accountId = uuid()
  const projectId = uuid()
  const now = clock.now()
  return db.transaction().execute(async (tx) => {
    const inserted = await tx
      .insertInto('accounts')
      .values({
        account_id: accountId,
        email: account.email,
        name: account.name,
        status: 'active',
        default_project_id: projectId,
        quotas: '{}',
        servers_used: 0,
        cpu_used: 0,
        ram_mb_used: 0,
        disk_gb_used: 0,
        created_at: now,
      })
      .onConflict((conflict) => conflict.column('email').doNothing())
      .executeTakeFirst()
    if (!inserted.numInsertedOrUpdatedRows) return null
    const project = {
      project_id: projectId,
      account_id: accountId,
      name: 'Default',
      description: null,
      server_count: 0,
      created_at: now,
      updated_at: now,
    }
    await tx.insertInto('projects').values(project).execute()
    const data = projectView({ ...project, default_project_id: projectId })
    await record(tx, [{ accountId, type: 'project.created', data, at: now }])
    return accountId
  })
}

const byId = prepared((db, { accountId }: { accountId: string }) =>
  db.selectFrom('accounts').selectAll().where('account_id', '=', accountId),
)

export async function findAccount(db: Queries, accountId: string): Promise<AccountTable> {
  const account = await byId.first(db, { accountId })
  if (!account) throw new Error(`there is no account ${accountId}`)
  return account
}

export function findAccountByEmail(db: Queries, email: string) {
  return db.selectFrom('accounts').selectAll().where('email', '=', email).executeTakeFirst()
}

export function listAccounts(db: Queries) {
  return db.selectFrom('accounts').selectAll().orderBy('account_id').execute()
}

/** What servers weigh on an account's quotas. */
export interface Load {
  servers: number
  cpu: number
  ram_mb: number
  disk_gb: number
}

/**
 * Adds to what the account's servers hold. Two requests at the same instant can't pass a quota together: the
 * row is locked by the first update.
 * @throws ApiError quota_exceeded
 */
export async function takeQuota(tx: Queries, accountId: string, load: Load): Promise<void> {
  const account = await tx
    .updateTable('accounts')
    .set((eb) => ({
      servers_used: eb('servers_used', '+', load.servers),
      cpu_used: eb('cpu_used', '+', load.cpu),
      ram_mb_used: eb('ram_mb_used', '+', load.ram_mb),
      disk_gb_used: eb('disk_gb_used', '+', load.disk_gb),
    }))
    .where('account_id', '=', accountId)
    .returningAll()
    .executeTakeFirstOrThrow()
  const quotas = quotasOf(account.quotas)
  for (const name of ['servers', 'cpu', 'ram_mb', 'disk_gb'] as const) {
    const requested = load[name]
    const used = account[`${name}_used`] - requested
    if (requested > 0 && used + requested > quotas[name])
      throw quotaExceeded(name, quotas[name], used, requested)
  }
}

/** The account's limits; until the transaction ends no other one gets them, so that a count made now stays true. */
export async function lockQuotas(tx: Queries, accountId: string): Promise<Quotas> {
  const { quotas } = await tx
    .updateTable('accounts')
    .set((eb) => ({ quotas: eb.ref('quotas') }))
    .where('account_id', '=', accountId)
    .returning('quotas')
    .executeTakeFirstOrThrow()
  return quotasOf(quotas)
}
