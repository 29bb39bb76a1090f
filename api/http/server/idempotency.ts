import { hash, randomUUID } from 'node:crypto'
import type { Expression, ExpressionBuilder, SelectQueryBuilder, SqlBool } from 'kysely'
import type { Clock } from '../../clock.ts'
import {
  type Database,
  isOrphan,
  isUnavailable,
  type Lent,
  type Queries,
  send,
} from '../../database/database.ts'
import type { Schema } from '../../database/schema.ts'
import type { Secrets } from '../../secrets.ts'
import { ApiError, httpProblems } from '../contract/problem.ts'
import type { Report } from '../contract/route.ts'
import type { IdempotencyKeyTable } from '../tables.ts'

const KEPT_MS = 24 * 3600_000
/** A request that holds its key longer than this counts as dead, even if its process is alive. */
const CLAIM_MS = 60_000
/** The interval of attempts to settle a claim while the database is away. */
const SETTLE_EVERY_MS = 1_000
/** The longest time that a client is asked to wait for the first request of its key. */
const LONGEST_WAIT_SECONDS = 16
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
  /** The time after which the request counts as dead; a request that takes over the key extends it. */
  until: number
  /** The object that an earlier attempt created or deleted before its process died: only its reply is missing. */
  earlierId: string | null
  isRemoval: boolean
}

export type Beginning = { claim: Claim } | { replay: StoredReply } | null

interface Repeatable {
  /** Method and path; a key is valid for only one such pair. */
  path: string
  body: unknown
  /** The object that the request deletes; null if it is gone. */
  removes?: string | null
}

interface IdempotencyOptions {
  db: Database
  clock: Clock
  secrets: Secrets
  /** The name under which this process takes work (default: any). */
  owner?: string
  /** The processes that are alive; null: there is only this one. */
  living: Lent<{ process_id: string }> | null
}

/**
 * Makes POST and DELETE safe to repeat (draft-ietf-httpapi-idempotency-key-header): the first request of a key is
 * carried out, later ones get its reply. Replies can hold secrets that are shown once, so they are kept sealed.
 */
export class Idempotency {
  readonly #db: Database
  readonly #clock: Clock
  readonly #secrets: Secrets
  readonly #owner: string
  readonly #living: IdempotencyOptions['living']
  /** The end of the newest claim. No two claims of a process end at the same time, so the end identifies a claim. */
  #lastUntil = 0

  constructor({ db, clock, secrets, living, owner = randomUUID() }: IdempotencyOptions) {
    this.#db = db
    this.#clock = clock
    this.#secrets = secrets
    this.#owner = owner
    this.#living = living
  }

  /**
   * A repeat needs the same body and the same rights: a reply can show data that another token may not see.
   * @returns null if the request deletes an object that is gone, and its key is unknown; also if the account
   * does not exist
   * @throws ApiError bad_request, idempotency_key_reused, idempotency_key_in_use
   */
  async begin(owner: KeyOwner, request: Repeatable, key: string): Promise<Beginning> {
    if (key.length === 0 || key.length > MAX_KEY_LENGTH)
      throw new ApiError(
        httpProblems.bad_request,
        `An Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters.`,
      )
    const now = this.#clock.now()
    const { accountId, rights } = owner
    const { path, body, removes } = request
    const digest = hash('sha256', JSON.stringify([body, ...rights]))
    this.#lastUntil = Math.max(this.#lastUntil + 1, now + CLAIM_MS)
    const until = this.#lastUntil
    const claim = { accountId, scope: path, key, until, earlierId: null, isRemoval: removes !== undefined }
    if (removes !== null) {
      const inserted = await this.#insert(claim, { digest, now, madeId: removes ?? null })
      if (inserted !== 'taken') return inserted === 'made' ? { claim } : null
    }
    const row = await this.#find(claim, now)
    // Unless the object is gone, the key was released between the two queries.
    if (!row) return removes === null ? null : this.begin(owner, request, key)
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
    if (!taken) throw inUse(waitSeconds(row.claimed_until, now))
    return { claim: { ...claim, earlierId: taken.made_id } }
  }

  /**
   * Notes the object that the request creates, in the same transaction, so that a second attempt finds it.
   * @throws ApiError idempotency_key_in_use if the request took so long that a repeat has taken it over, at the latest
   * with the commit
   */
  remember(tx: Queries, claim: Claim, id: string): Promise<void> {
    const noted = tx.updateTable('idempotency_keys').set({ made_id: id }).where(this.#holding(claim))
    return send(tx, noted, () => inUse(1))
  }

  /**
   * Keeps the reply for repeats.
   * @throws the error of the database; if it is away, the claim is settled later
   * @throws ApiError idempotency_key_in_use if a repeat has taken the key over, whose reply is the one that counts
   */
  async finish(claim: Claim, reply: StoredReply): Promise<void> {
    const sealed = this.#secrets.seal(JSON.stringify(reply))
    await this.#settle(claim, async () => {
      const kept = this.#db.updateTable('idempotency_keys').set({ reply: sealed }).where(this.#holding(claim))
      const { numUpdatedRows } = await kept.executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n && (await this.#find(claim, this.#clock.now()))) throw inUse(1)
    })
  }

  /** Releases the key of a request without a result to repeat. @throws like `finish` */
  async giveUp(claim: Claim): Promise<void> {
    await this.#settle(claim, () => this.#release(claim))
  }

  #release(claim: Claim): Promise<unknown> {
    const key = this.#db.deleteFrom('idempotency_keys').where(this.#holding(claim))
    return (claim.isRemoval ? key : key.where('made_id', 'is', null)).execute()
  }

  async #settle(claim: Claim, attempt: () => Promise<unknown>): Promise<void> {
    try {
      await attempt()
    } catch (error) {
      if (isUnavailable(error)) void this.#settleLater(claim, attempt)
      throw error
    }
  }

  /** Settles a claim once the database is back. Otherwise its key would stay taken for the rest of the minute. */
  async #settleLater(claim: Claim, attempt: () => Promise<unknown>): Promise<void> {
    while (this.#clock.now() < claim.until) {
      await this.#clock.sleep(SETTLE_EVERY_MS)
      try {
        await attempt()
        return
      } catch (error) {
        if (!isUnavailable(error)) return
      }
    }
  }

  async #insert(
    claim: Claim,
    { digest, now, madeId }: { digest: string; now: number; madeId: string | null },
  ): Promise<'made' | 'taken' | 'no account'> {
    const row = {
      account_id: claim.accountId,
      scope: claim.scope,
      key: claim.key,
      request: digest,
      reply: null,
      made_id: madeId,
      claimed_until: claim.until,
      owner: this.#owner,
      created_at: now,
    }
    const attempt = this.#db
      .insertInto('idempotency_keys')
      .values(row)
      // A key that is a day old is free again, even if its row was not deleted yet.
      .onConflict((conflict) =>
        conflict
          .columns(['account_id', 'scope', 'key'])
          .doUpdateSet(row)
          .where('idempotency_keys.created_at', '<=', now - KEPT_MS),
      )
    try {
      const { numInsertedOrUpdatedRows = 0n } = await attempt.executeTakeFirst()
      return numInsertedOrUpdatedRows > 0n ? 'made' : 'taken'
    } catch (error) {
      if (isOrphan(error)) return 'no account'
      // The key may be claimed even though no reply of the database arrived.
      if (isUnavailable(error)) void this.#settleLater(claim, () => this.#release(claim))
      throw error
    }
  }

  #find(claim: Claim, now: number): Promise<IdempotencyKeyTable | undefined> {
    const kept = this.#db
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('created_at', '>', now - KEPT_MS)
    return kept.where(matches(claim)).executeTakeFirst()
  }

  /**
   * Takes a key over from a request that is dead, by the time or with its process.
   * @returns the object that the first attempt created, read once no other attempt can note one
   */
  #takeOver(claim: Claim, now: number): Promise<Pick<IdempotencyKeyTable, 'made_id'> | undefined> {
    return this.#db
      .updateTable('idempotency_keys')
      .set({ claimed_until: claim.until, owner: this.#owner })
      .where(matches(claim))
      .where('reply', 'is', null)
      .where((eb) => eb.or([eb('claimed_until', '<=', now), eb.and(this.#ofDeadProcess(eb))]))
      .returning('made_id')
      .executeTakeFirst()
  }

  #ofDeadProcess(eb: Where): Condition[] {
    const isOfOther = eb('owner', '<>', this.#owner)
    if (!this.#living) return [isOfOther]
    const living = eb.selectFrom(this.#living(this.#db).as('living')).select('living.process_id')
    return [isOfOther, eb('owner', 'not in', living)]
  }

  /** The row of a claim, unless another attempt has taken it over. */
  #holding(claim: Claim) {
    return (eb: Where) =>
      eb.and([matches(claim)(eb), eb('claimed_until', '=', claim.until), eb('owner', '=', this.#owner)])
  }
}

type Keys = SelectQueryBuilder<Schema, 'idempotency_keys', { account_id: string; scope: string; key: string }>

/** Deletes some of the keys that are free again. @returns the number deleted */
export function forgetKeys(db: Database, now: number, limit: number): Promise<number> {
  return deleteSome(db, (keys) => keys.where('created_at', '<=', now - KEPT_MS), limit)
}

/**
 * Deletes the oldest of an account's excess keys, if they created nothing that a repeat could create twice. The
 * others lose only their reply: a repeat returns the existing object, as after a crash.
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
    // Without it, PostgreSQL may repeat the search for each row of the table.
    .with(
      (cte) => cte('old').materialized(),
      (select) =>
        which(select.selectFrom('idempotency_keys').select(['account_id', 'scope', 'key'])).limit(limit),
    )
    .deleteFrom('idempotency_keys')
    .where((eb) =>
      eb(
        eb.refTuple('account_id', 'scope', 'key'),
        'in',
        eb
          .selectFrom('old')
          .select(['old.account_id', 'old.scope', 'old.key'])
          .$asTuple('account_id', 'scope', 'key'),
      ),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

type Where = ExpressionBuilder<Schema, 'idempotency_keys'>
type Condition = Expression<SqlBool>

function matches({ accountId, scope, key }: Pick<Claim, 'accountId' | 'scope' | 'key'>) {
  return (eb: Where) => eb.and({ account_id: accountId, scope, key })
}

/**
 * Returns how long a client should wait: as long as the request has taken so far. So it repeats a dead one only a few
 * times.
 */
function waitSeconds(claimedUntil: number, now: number): number {
  const soFar = Math.round((now - claimedUntil + CLAIM_MS) / 1000)
  return Math.max(1, Math.min(soFar, LONGEST_WAIT_SECONDS, Math.ceil((claimedUntil - now) / 1000)))
}

function inUse(seconds: number): ApiError {
  return new ApiError(
    httpProblems.idempotency_key_in_use,
    `The first request with this key is still in progress. Try again in ${seconds} s.`,
    {},
    { 'retry-after': `${seconds}` },
  )
}
