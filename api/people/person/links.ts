import { hash, randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import { ApiError } from '../../http/contract/problem.ts'
import { peopleProblems } from './schema.ts'
import type { LinkTable } from './tables.ts'

const HOUR = 3600_000
/** Lifetime of a link, by purpose. */
export const linkLivesMs = { sign_up: 24 * HOUR, reset: HOUR, sign_in: 24 * HOUR, email: HOUR } as const

/** A secret of 256 bits for a link or a cookie. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Hashes a secret for storage. A plain hash is enough, since 256 bits can't be guessed. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret)
}

/** Creates a link; an earlier one for the same purpose is revoked. @returns its secret, which is not stored */
export async function createLink(
  tx: Queries,
  clock: Clock,
  link: Pick<LinkTable, 'purpose' | 'email' | 'person_id' | 'language'>,
  livesMs = linkLivesMs[link.purpose],
): Promise<string> {
  const now = clock.now()
  const secret = newSecret()
  await tx.deleteFrom('links').where('email', '=', link.email).where('purpose', '=', link.purpose).execute()
  await tx
    .insertInto('links')
    .values({
      ...link,
      hash: hashSecret(secret),
      created_at: now,
      expires_at: now + livesMs,
    })
    .execute()
  return secret
}

/** Finds a link without using it up. @throws ApiError link_invalid */
export async function findLink(
  db: Queries,
  clock: Clock,
  secret: string,
  purpose: LinkTable['purpose'],
): Promise<LinkTable> {
  const link = await db
    .selectFrom('links')
    .selectAll()
    .where('hash', '=', hashSecret(secret))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', clock.now())
    .executeTakeFirst()
  if (!link) throw linkInvalid()
  return link
}

/** Uses up a link; only one of several simultaneous attempts succeeds. @throws ApiError link_invalid */
export async function redeemLink(tx: Queries, link: LinkTable): Promise<void> {
  const { numDeletedRows } = await tx.deleteFrom('links').where('hash', '=', link.hash).executeTakeFirst()
  if (numDeletedRows === 0n) throw linkInvalid()
}

/** Revokes the links that were mailed to an address. */
export async function endLinks(tx: Queries, email: string): Promise<void> {
  await tx.deleteFrom('links').where('email', '=', email).execute()
}

export function linkInvalid(): ApiError {
  return new ApiError(
    peopleProblems.link_invalid,
    'The link was used already, has expired, or is incomplete. Request another one.',
  )
}

/** The address of a page of the console. @param secret the part after the #, which browsers do not send */
export function pageOn({ siteUrl }: { siteUrl: () => string }, path: string, secret: string): URL {
  const url = new URL(path, siteUrl())
  url.hash = secret
  return url
}
