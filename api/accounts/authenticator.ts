import { isWithin } from '../cidrs.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type Actor, CredentialRefused, type Whose } from '../http/contract/auth.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import { tokenRevoked } from './revocation.ts'
import { standingOf } from './status.ts'
import { hashToken, isToken } from './token-value.ts'
import { findToken, noteUse, tokenByHash, validTokens } from './tokens.ts'
import { cidrsOf } from './view.ts'

/** `last_used_at` is written at most once in this many milliseconds, so that most reads write nothing. */
export const USE_IS_NOTED_EVERY = 60_000

/**
 * Returns the caller that an Authorization header identifies, if its token may be used from that address.
 * @throws ApiError missing_token, invalid_token, token_expired, token_revoked, address_not_allowed
 */
export function authenticator(
  db: Database,
  clock: Clock,
): (authorization: string | undefined, address: string) => Promise<Actor> {
  return async (authorization, address) => {
    if (!authorization)
      throw new ApiError(
        httpProblems.missing_token,
        'Send a token: Authorization: Bearer berth_…, or sign in.',
      )
    const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1]
    if (!token)
      throw new ApiError(
        httpProblems.invalid_token,
        'The Authorization header has the wrong form. It must be the word Bearer, a space and the token: Bearer berth_…',
      )
    if (!isToken(token))
      throw new ApiError(
        httpProblems.invalid_token,
        'The token is mistyped or incomplete. Copy all of its 55 characters, from berth_ on.',
      )
    const row = await tokenByHash.first(db, { hash: hashToken(token) })
    const now = clock.now()
    if (!row) throw new ApiError(httpProblems.invalid_token, 'Unknown token. Create a new one.')
    const whose = { accountId: row.account_id, tokenId: row.token_id, personId: null }
    if (row.revoked_at !== null) throw tokenRevoked(whose)
    if (row.expires_at !== null && row.expires_at <= now)
      throw new CredentialRefused(
        httpProblems.token_expired,
        'The token has expired. Create a new one.',
        whose,
      )
    const cidrs = cidrsOf(row)
    if (cidrs.length > 0 && !isWithin(address, cidrs)) throw fromElsewhere(address, whose)
    if ((row.last_used_at ?? 0) <= now - USE_IS_NOTED_EVERY)
      // The time is informational: if it can't be written, for example on a full disk, requests still succeed.
      await noteUse(db, row.token_id, now).catch(() => {})
    return {
      accountId: row.account_id,
      tokenId: row.token_id,
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
