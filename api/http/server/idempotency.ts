import { hash } from 'node:crypto'
import type { ExpressionBuilder, SelectQueryBuilder } from 'kysely'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { Schema } from '../../database/schema.ts'
import type { Secrets } from '../../secrets.ts'
import { ApiError, httpProblems } from '../contract/problem.ts'
import type { Report } from '../contract/route.ts'
import type { IdempotencyKeyTable } from '../tables.ts'

const KEPT_MS = 24 * 3600_000
/** A request that holds its key longer than this has died with its process. */
const CLAIM_MS = 60_000
const MAX_KEY_LENGTH = 255

export interface StoredReply {
  status: number
  headers: Record<string, string>
  body: string
  /** The line for the security log, which every repeat writes again. */
  report?: Report | null
}

/** The account that a key belongs to, and the rights that the reply depends on. */
export interface KeyOwner {
  accountId: string
  rights: readonly unknown[]
}

/** The claim to a key, whose holder carries out its request. */
export interface Claim {
  accountId: string
  scope: string
  key: string
  /** The time after which the request counts as dead; a request that takes over the key moves it on. */
  until: number
  /** The object that an earlier attempt created before its process died: only its reply is missing. */
  createdId: string | null
}

export type Beginning = { claim: Claim } | { replay: StoredReply }

/**
 * Makes POST safe to repeat (draft-ietf-httpapi-idempotency-key-header): the first request of a key is carried out,
 * later ones get its reply. Replies can hold secrets that are shown once, so they are kept sealed.
 */
export class Idempotency {
  readonly #db: Database
  readonly #clock: Clock
  readonly #secrets: Secrets

  constructor(db: Database, clock: Clock, secrets: Secrets) {
    this.#db = db
    this.#clock = clock
    this.#secrets = secrets
  }

  /**
   * The same request is the same body with the same rights: a reply can show what another token may not see.
   * @param request `path` is method and path: a key is good for one of them
   * @throws ApiError bad_request, idempotency_key_reused, idempotency_key_in_use
   */
  async begin(owner: KeyOwner, request: { path: string; body: unknown }, key: string): Promise<Beginning> {
    if (key.length === 0 || key.length > MAX_KEY_LENGTH)
      throw new ApiError(
        httpProblems.bad_request,
        `An Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters.`,
      )
    const now = this.#clock.now()
    const { accountId, rights } = owner
    const { path, body } = request
    const digest = hash('sha256', JSON.stringify([body, ...rights]))
    const claim = { accountId, scope: path, key, until: now + CLAIM_MS, createdId: null }
    await this.#forgetOld(claim, now)
    if (await this.#insert(claim, digest, now)) return { claim }
    const row = await this.#find(claim)
    if (!row) return this.begin(owner, request, key) // it was given up between the two looks
    if (row.request !== digest)
      throw new ApiError(
        httpProblems.idempotency_key_reused,
        'This Idempotency-Key was used with a different body, or with a token that may get a different reply. Use a new key for a new request.',
      )
    if (row.reply !== null) {
      const replay: StoredReply = JSON.parse(this.#secrets.open(row.reply))
      return { replay }
    }
    const taken = await this.#takeOver(claim, now)
    if (!taken) throw inUse()
    return { claim: { ...claim, createdId: taken.made_id } }
  }

  /**
   * Notes the object that the request creates, in the same transaction, so that a second attempt finds it.
   * @throws ApiError idempotency_key_in_use if the request took so long that a repeat has taken it over
   */
  async remember(tx: Queries, claim: Claim, id: string): Promise<void> {
    const { numUpdatedRows } = await tx
      .updateTable('idempotency_keys')
      .set({ made_id: id })
      .where(holding(claim))
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw inUse()
  }

  async finish(claim: Claim, reply: StoredReply): Promise<void> {
    const sealed = this.#secrets.seal(JSON.stringify(reply))
    await this.#db.updateTable('idempotency_keys').set({ reply: sealed }).where(holding(claim)).execute()
  }

  /** Releases the key of a request without a result to repeat. */
  async giveUp(claim: Claim): Promise<void> {
    await this.#db.deleteFrom('idempotency_keys').where(holding(claim)).where('made_id', 'is', null).execute()
  }

  async #insert(claim: Claim, request: string, now: number): Promise<boolean> {
    const { numInsertedOrUpdatedRows = 0n } = await this.#db
      .insertInto('idempotency_keys')
      .values({
        account_id: claim.accountId,
        scope: claim.scope,
        key: claim.key,
        request,
        reply: null,
        made_id: null,
        claimed_until: claim.until,
        created_at: now,
      })
      .onConflict((conflict) => conflict.columns(['account_id', 'scope', 'key']).doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows > 0n
  }

  #find(claim: Claim): Promise<IdempotencyKeyTable | undefined> {
    return this.#db.selectFrom('idempotency_keys').selectAll().where(matches(claim)).executeTakeFirst()
  }

  /** @returns the object that the first attempt created, read once no other attempt can note one */
  #takeOver(claim: Claim, now: number): Promise<Pick<IdempotencyKeyTable, 'made_id'> | undefined> {
    return this.#db
      .updateTable('idempotency_keys')
      .set({ claimed_until: claim.until })
      .where(matches(claim))
      .where('reply', 'is', null)
      .where('claimed_until', '<=', now)
      .returning('made_id')
      .executeTakeFirst()
  }

  /** A key that is a day old is free again, even if its row was not deleted yet. */
  async #forgetOld(claim: Claim, now: number): Promise<void> {
    await this.#db
      .deleteFrom('idempotency_keys')
      .where(matches(claim))
      .where('created_at', '<=', now - KEPT_MS)
      .execute()
  }
}

type Keys = SelectQueryBuilder<Schema, 'idempotency_keys', { account_id: string; scope: string; key: string }>

/** Deletes some of the keys that are free again. @returns the number deleted */
export function forgetKeys(db: Database, now: number, limit: number): Promise<number> {
  return deleteSome(db, (keys) => keys.where('created_at', '<=', now - KEPT_MS), limit)
}

/**
 * Deletes the oldest of the keys that an account has in excess, if they created nothing that a repeat could make
 * twice. The others lose only their reply: a repeat is answered with the object that was made, as after a crash.
 * @returns how many keys were deleted, at most `limit`
 */
export async function forgetExcessKeys(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
  now: number,
): Promise<number> {
  const oldest = await db
    .selectFrom('idempotency_keys')
    .select('created_at')
    .where('account_id', '=', accountId)
    .orderBy('created_at', 'desc')
    .limit(1)
    .offset(most)
    .executeTakeFirst()
  if (!oldest) return 0
  await db
    .updateTable('idempotency_keys')
    .set({ reply: null })
    .where('account_id', '=', accountId)
    .where('created_at', '<=', oldest.created_at)
    .where('made_id', 'is not', null)
    .where('reply', 'is not', null)
    .where('claimed_until', '<=', now)
    .execute()
  return deleteSome(
    db,
    (keys) =>
      keys
        .where('account_id', '=', accountId)
        .where('created_at', '<=', oldest.created_at)
        .where('made_id', 'is', null)
        .where('claimed_until', '<=', now),
    limit,
  )
}

async function deleteSome(db: Database, which: (keys: Keys) => Keys, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('idempotency_keys')
    .where((eb) =>
      eb(
        eb.refTuple('account_id', 'scope', 'key'),
        'in',
        which(eb.selectFrom('idempotency_keys').select(['account_id', 'scope', 'key']))
          .limit(limit)
          .$asTuple('account_id', 'scope', 'key'),
      ),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

function matches({ accountId, scope, key }: Claim) {
  return (eb: ExpressionBuilder<Schema, 'idempotency_keys'>) => eb.and({ account_id: accountId, scope, key })
}

/** The same, as long as no other attempt has taken it over. */
function holding(claim: Claim) {
  return (eb: ExpressionBuilder<Schema, 'idempotency_keys'>) =>
    eb.and([matches(claim)(eb), eb('claimed_until', '=', claim.until)])
}

function inUse(): ApiError {
  return new ApiError(
    httpProblems.idempotency_key_in_use,
    'The first request with this key is still in progress. Try again in a moment.',
    {},
    { 'retry-after': '1' },
  )
}
