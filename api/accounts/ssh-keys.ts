import type { Static } from 'typebox'
import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { labelled, labelsColumn } from '../database/labels.ts'
import { countIn, type Page, pageOf } from '../database/page.ts'
import { record } from '../events/outbox.ts'
import type { Quota } from '../feature.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { lockAccount } from './accounts.ts'
import { parsePublicKey } from './public-key.ts'
import { requireRoom } from './quotas.ts'
import { accountProblems, type SshKeyCreate, type SshKeyUpdate } from './schema.ts'
import type { SshKeyTable } from './tables.ts'
import { sshKeyView } from './view.ts'

export function listSshKeys(db: Queries, accountId: string, label: string | undefined, page: Page) {
  return pageOf(labelled(ofAccount(db, accountId).selectAll(), label).orderBy('ssh_key_id', 'desc'), page)
}

export function findSshKey(db: Queries, accountId: string, sshKeyId: string) {
  return db
    .selectFrom('ssh_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('ssh_key_id', '=', sshKeyId)
    .executeTakeFirst()
}

/** Returns the account's keys among these ids. */
export function findSshKeys(db: Queries, accountId: string, ids: readonly string[]): Promise<SshKeyTable[]> {
  if (ids.length === 0) return Promise.resolve([])
  return db
    .selectFrom('ssh_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('ssh_key_id', 'in', ids)
    .execute()
}

/** @throws ApiError validation_failed (invalid_public_key), ssh_key_exists, quota_exceeded */
export async function addSshKey(
  db: Database,
  clock: Clock,
  accountId: string,
  { name, public_key, labels = {} }: Static<typeof SshKeyCreate>,
  remember: Remember,
): Promise<SshKeyTable> {
  const key = await parsePublicKey(public_key)
  if (typeof key === 'string') throw invalid([bodyIssue('public_key', 'invalid_public_key', key)])
  const row: SshKeyTable = {
    ssh_key_id: uuid(),
    account_id: accountId,
    name,
    public_key: public_key.trim(),
    fingerprint: key.fingerprint,
    key_type: key.type,
    labels: JSON.stringify(labels),
    created_at: clock.now(),
  }
  await db.transaction().execute(async (tx) => {
    const account = await lockAccount(tx, accountId)
    const existing = await tx
      .selectFrom('ssh_keys')
      .select('ssh_key_id')
      .where('account_id', '=', accountId)
      .where('fingerprint', '=', key.fingerprint)
      .executeTakeFirst()
    if (existing)
      throw new ApiError(
        accountProblems.ssh_key_exists,
        'The account already has this key, perhaps under another name.',
        {
          ssh_key_id: existing.ssh_key_id,
        },
      )
    await requireRoom(tx, account, sshKeyQuota)
    await tx.insertInto('ssh_keys').values(row).execute()
    await record(tx, [{ accountId, type: 'ssh_key.created', data: sshKeyView(row), at: row.created_at }])
    await remember(tx, row.ssh_key_id)
  })
  return row
}

/** @throws ApiError ssh_key_not_found if it was deleted since */
export function updateSshKey(
  db: Database,
  clock: Clock,
  { account_id, ssh_key_id }: SshKeyTable,
  { labels, ...rest }: Static<typeof SshKeyUpdate>,
): Promise<SshKeyTable> {
  return db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable('ssh_keys')
      .set({ ...rest, ...labelsColumn(labels) })
      .where('account_id', '=', account_id)
      .where('ssh_key_id', '=', ssh_key_id)
      .returningAll()
      .executeTakeFirst()
    const key = found(row, accountProblems.ssh_key_not_found)
    const event = { accountId: account_id, data: sshKeyView(key), at: clock.now() }
    await record(tx, [{ ...event, type: 'ssh_key.updated' }])
    return key
  })
}

/** Servers keep the keys they were created with. */
export function deleteSshKey(db: Database, clock: Clock, key: SshKeyTable): Promise<void> {
  return db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('ssh_keys')
      .where('ssh_key_id', '=', key.ssh_key_id)
      .executeTakeFirst()
    const event = { accountId: key.account_id, data: sshKeyView(key), at: clock.now() }
    if (numDeletedRows > 0n) await record(tx, [{ ...event, type: 'ssh_key.deleted' }])
  })
}

function ofAccount(db: Queries, accountId: string) {
  return db.selectFrom('ssh_keys').where('account_id', '=', accountId)
}

export const sshKeyQuota: Quota = {
  name: 'ssh_keys',
  description: 'SSH keys',
  limit: 100,
  example: 1,
  count: (db, accountId) => countIn(ofAccount(db, accountId)),
}
