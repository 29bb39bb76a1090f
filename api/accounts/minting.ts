import { isWithin } from '../cidrs.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import {
  type Actor,
  covered,
  holds,
  insufficientScope,
  type Role,
  roleScopes,
  type ScopeName,
} from '../http/contract/auth.ts'
import { isoTime } from '../http/contract/fields.ts'
import { type ApiError, bodyIssue, invalid, notFound } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { lockAccount } from './accounts.ts'
import { findProject, unknownProject } from './projects.ts'
import { requireRoom } from './quotas.ts'
import { requireUnrevoked, revokeWithin } from './revocation.ts'
import { accountProblems } from './schema.ts'
import type { AccountTable, TokenTable } from './tables.ts'
import { createToken, findToken, tokenQuota } from './tokens.ts'
import { cidrsOf } from './view.ts'
export interface Minting {
  db: Database
  clock: Clock
  /** True if the installation has `/hcloud/v1` (default: false). */
  hasHcloud?: boolean | undefined
  roleNow: (tx: Queries, accountId: string, personId: string) => Promise<Role>
}

/**
 * Creates a token with the token of a customer. The new token has no more scopes, addresses or lifetime than its
 * parent.
 * @param token `replaces` is the id of a token whose value was never delivered; it is revoked
 * @throws ApiError insufficient_scope, quota_exceeded, validation_failed, token_revoked, token_not_found if the token
 * to replace was revoked before
 */
export function mintToken(
  { db, clock, roleNow, hasHcloud = false }: Minting,
  actor: Pick<Actor, 'accountId' | 'tokenId' | 'scopes'> & { person: { personId: string } | null },
  token: {
    name: string
    scopes: readonly ScopeName[]
    cidrs: readonly string[]
    expiresAt: number | null
    replaces: string | null
    kind?: 'api' | 'hcloud'
    /** The project of a token of the kind hcloud (default: the account's default project). */
    projectId?: string | undefined
  },
  remember: Remember,
): Promise<TokenTable & { value: string }> {
  const { accountId, tokenId: parentId, person } = actor
  if (token.kind === 'hcloud' && !hasHcloud) throw invalid([bodyIssue('kind', 'not_in_enum', NO_HCLOUD)])
  return db.transaction().execute(async (tx) => {
    const account = await lockAccount(tx, accountId)
    // This is read under the lock, so that revoking a token or role does not miss a token that is being created.
    const scopes = person ? roleScopes[await roleNow(tx, accountId, person.personId)] : actor.scopes
    const lacking = covered(token.scopes).find((scope) => !holds({ scopes }, scope))
    if (lacking)
      throw insufficientScope(`You do not have the scope ${lacking}, so you can't grant it.`, lacking)
    const parent = await requireUnrevoked(tx, actor)
    const expiresAt = token.expiresAt ?? parent.expires_at
    if (parent.expires_at !== null && (expiresAt ?? 0) > parent.expires_at) throw outlives(parent.expires_at)
    const cidrs = within(cidrsOf(parent), token.cidrs)
    if (token.replaces !== null && !(await revokeWithin(tx, clock, token.replaces)))
      throw notFound(accountProblems.token_not_found)
    await requireRoom(tx, account, tokenQuota)
    const { tokenId, value } = await createToken(tx, clock, {
      ...token,
      accountId,
      parentId,
      personId: person?.personId ?? null,
      projectId: await projectOf(tx, account, token),
      expiresAt,
      cidrs,
    })
    await remember(tx, tokenId)
    return { ...(await findToken(tx, tokenId)), value }
  })
}

const NO_HCLOUD =
  'kind must be api: this installation does not have /hcloud/v1. Its operator turns that on with BERTH_HCLOUD=on.'

/** @throws ApiError validation_failed if the account has no such project, or the kind of token has none */
async function projectOf(
  tx: Queries,
  { account_id, default_project_id }: Pick<AccountTable, 'account_id' | 'default_project_id'>,
  { kind = 'api', projectId }: { kind?: 'api' | 'hcloud'; projectId?: string | undefined },
): Promise<string | null> {
  if (kind === 'hcloud') {
    const wanted = projectId ?? default_project_id
    if (await findProject(tx, account_id, wanted)) return wanted
    throw invalid([unknownProject()])
  }
  if (projectId === undefined) return null
  const message = 'project_id is for tokens of the kind hcloud: others reach all projects.'
  throw invalid([bodyIssue('project_id', 'mutually_exclusive', message)])
}

function outlives(expiresAt: number): ApiError {
  const message = `expires_at must not be later than that of your token: ${isoTime(expiresAt)}.`
  return invalid([bodyIssue('expires_at', 'above_maximum', message)])
}

/**
 * The ranges of a token that is created with another one.
 * @param own the ranges of the other token; empty: any address
 * @throws ApiError validation_failed if the new token could be used from more addresses
 */
function within(own: readonly string[], wanted: readonly string[]): readonly string[] {
  if (own.length === 0) return wanted
  const message = (cidr: string) =>
    `${cidr} must be within the addresses that your token may be used from: ${own.join(', ')}.`
  const issues = wanted.flatMap((cidr, at) =>
    isWithin(cidr, own) ? [] : [bodyIssue(`cidrs.${at}`, 'above_maximum', message(cidr))],
  )
  if (issues.length > 0) throw invalid(issues)
  return wanted.length > 0 ? wanted : own
}
