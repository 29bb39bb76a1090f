import { isWithin } from '../cidrs.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type Actor, CredentialRefused, type Whose } from '../http/contract/auth.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import { tokenRevoked } from './revocation.ts'
import { frozenRefusal, standingOf } from './status.ts'
import type { TokenTable } from './tables.ts'
import { hashToken, isToken } from './token-value.ts'
import { findToken, noteUse, tokenByHash, validTokens } from './tokens.ts'
import { cidrsOf } from './view.ts'

/** `last_used_at` is written at most once in this many milliseconds, so that most reads write nothing. */
export const USE_IS_NOTED_EVERY = 60_000

/** Writes down the use of a credential, unless that was done shortly before. @param note writes it */
export async function noteOccasionally(
  lastUsedAt: number | null,
  now: number,
  note: () => Promise<void>,
): Promise<void> {
  if ((lastUsedAt ?? 0) > now - USE_IS_NOTED_EVERY) return
  // The time is informational: if it can't be written, for example on a full disk, requests still succeed.
  await note().catch(() => {})
}

/**
 * Reads the token of an Authorization header.
 * @throws ApiError missing_token, invalid_token
 */
export function readAuthorization(authorization: string | undefined): string {
  if (!authorization)
    throw new ApiError(httpProblems.missing_token, 'Send a token: Authorization: Bearer berth_…, or sign in.')
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1]
  if (!token)
    throw new ApiError(
      httpProblems.invalid_token,
      'The Authorization header has the wrong form. It must be the word Bearer, a space and the token: Bearer berth_…',
    )
  if (!isToken(token))
    throw new ApiError(
      httpProblems.invalid_token,
      "The token is mistyped or incomplete. Copy all of it: berth_ and 49 letters and digits, or the 64 of hcloud's tools.",
    )
  return token
}

/**
 * Checks that a token is still valid, and may be used from an address.
 * @throws ApiError invalid_token, token_revoked, token_expired, address_not_allowed
 */
export function requireValid<Row extends Pick<TokenTable, 'revoked_at' | 'expires_at' | 'cidrs'>>(
  row: Row | undefined,
  { now, address, whose }: { now: number; address: string; whose: (row: Row) => Whose },
): Row {
  if (!row) throw new ApiError(httpProblems.invalid_token, 'Unknown token. Create a new one.')
  if (row.revoked_at !== null) throw tokenRevoked(whose(row))
  if (row.expires_at !== null && row.expires_at <= now)
    throw new CredentialRefused(
      httpProblems.token_expired,
      'The token has expired. Create a new one.',
      whose(row),
    )
  const cidrs = cidrsOf(row)
  if (cidrs.length > 0 && !isWithin(address, cidrs)) throw fromElsewhere(address, whose(row))
  return row
}

/**
 * Returns the caller that a token identifies, if it may be used from that address.
 * @throws ApiError invalid_token, token_expired, token_revoked, address_not_allowed, account_frozen
 */
export function authenticator(
  db: Database,
  clock: Clock,
): (token: string, address: string) => Promise<Actor> {
  return async (token, address) => {
    const now = clock.now()
    const whose = ({ account_id, token_id }: Pick<TokenTable, 'account_id' | 'token_id'>): Whose => ({
      accountId: account_id,
      tokenId: token_id,
      personId: null,
    })
    const found = await tokenByHash.first(db, { hash: hashToken(token) })
    const row = requireValid(found, { now, address, whose })
    if (row.frozen_at !== null) throw frozenRefusal(row, whose(row))
    await noteOccasionally(row.last_used_at, now, () => noteUse(db, row.token_id, now))
    return {
      accountId: row.account_id,
      tokenId: row.token_id,
      projectId: row.project_id,
      person: null,
      ...standingOf(row),
      scopes: row.scopes.split(' '),
    }
  }
}

/** True if the token is still valid and may be used from the address. Checked for connections that it opened. */
export async function isUsableFrom(
  db: Database,
  clock: Clock,
  tokenId: string,
  address: string,
): Promise<boolean> {
  if (!(await validTokens(db, clock, [tokenId])).has(tokenId)) return false
  const cidrs = cidrsOf(await findToken(db, tokenId))
  return cidrs.length === 0 || isWithin(address, cidrs)
}

/** Names the address, so that an owner behind a proxy sees which one to allow, but does not reveal the list. */
function fromElsewhere(address: string, whose: Whose): ApiError {
  const detail = `The token may not be used from ${address}. Create one with this address in its cidrs, or use it from an allowed address.`
  return new CredentialRefused(httpProblems.address_not_allowed, detail, whose)
}
