import { findSshKeys } from '../accounts/ssh-keys.ts'
import type { Queries } from '../database/database.ts'
import { bodyIssue, type Issue } from '../http/contract/problem.ts'
import { generatePassword, type Secrets } from '../secrets.ts'
import type { ServerTable } from './tables.ts'
import type { StoredKey } from './view.ts'

const USER_DATA_BYTES = 65_536

/** The columns that decide how people log in to a new system, and what it runs first. */
export type LoginColumns = Pick<ServerTable, 'ssh_keys' | 'password' | 'user_data'>

/** The login that a request asks for. */
interface LoginRequest {
  ssh_key_ids?: readonly string[]
  user_data?: string | null
}

/** Finds the SSH keys that a request names, and the mistakes in its fields about the login. */
export async function readLogin(
  db: Queries,
  accountId: string,
  { ssh_key_ids: ids = [], user_data }: LoginRequest,
): Promise<{ keys: StoredKey[]; issues: Issue[] }> {
  const found = await findSshKeys(db, accountId, ids)
  const issues = ids.flatMap((id, at) =>
    found.some((key) => key.ssh_key_id === id)
      ? []
      : [bodyIssue(`ssh_key_ids.${at}`, 'not_found', `No such SSH key: ${id}.`)],
  )
  if (Buffer.byteLength(user_data ?? '') > USER_DATA_BYTES)
    issues.push(bodyIssue('user_data', 'too_long', 'user_data must have at most 64 KiB.'))
  const keys = found.map(({ ssh_key_id, name, fingerprint, public_key }) => ({
    ssh_key_id,
    name,
    fingerprint,
    public_key,
  }))
  return { keys, issues }
}

/** Returns the columns of a login by these keys; without any, by a new password. */
export function loginColumns(
  secrets: Secrets,
  keys: readonly StoredKey[],
  userData: string | null | undefined,
): LoginColumns {
  return {
    ssh_keys: JSON.stringify(keys),
    password: keys.length === 0 ? secrets.seal(generatePassword()) : null,
    user_data: userData ? secrets.seal(userData) : null,
  }
}
