import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { eventFollower } from '../events/following.ts'
import type { EventType } from '../events/types.ts'
import { Recent } from '../http/limits/recent.ts'
import type { HcloudNumberTable } from './tables.ts'

/** The offers of the catalogue, which are the same for all accounts. */
const offers = ['location', 'datacenter', 'server_type', 'template', 'public_iso'] as const
/** Actions on objects, whose numbers are forgotten after some time. */
const happenings = ['operation', 'start', 'change'] as const
const objects = [
  'server',
  'ssh_key',
  'snapshot',
  'backup',
  'own_image',
  'iso',
  'network',
  'firewall',
  'volume',
  'address',
] as const
export type Kind = (typeof offers | typeof happenings | typeof objects)[number]

const isIn = (list: readonly Kind[], kind: Kind) => list.includes(kind)

/** Days after which the numbers of actions, and of objects that are gone, are forgotten. */
export const KEPT_DAYS = 30
const MOST_CACHED = 100_000

/** An object in a reply, which is written as its number once the reply is complete and the number is known. */
export class Ref {
  readonly kind: Kind
  readonly id: string
  number = 0

  constructor(kind: Kind, id: string) {
    this.kind = kind
    this.id = id
  }

  toJSON(): number {
    return this.number
  }

  valueOf(): number {
    return this.number
  }
}

/** An object in a reply: its number, if that is known already. */
export type Shown = Ref | number

/** A number with the object that it stands for. */
export interface Numbered {
  kind: Kind
  id: string
  createdAt: number
}

/** Assigns numbers to objects. An object gets its number when it is first shown; no number is used again. */
export class Numbers {
  readonly #db: Database
  readonly #clock: Clock
  readonly #known = new Recent<number>(MOST_CACHED)
  /** The objects by their numbers, with the account of each; null for an offer. */
  readonly #found = new Recent<Numbered & { accountId: string | null }>(MOST_CACHED)

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** The number of an object that was shown before, if it is remembered. */
  peek(kind: Kind, id: string): number | undefined {
    return this.#known.get(keyOf({ kind, id }))
  }

  /** Sets the numbers of an account's objects, and of offers. */
  async settle(accountId: string, refs: readonly Ref[]): Promise<void> {
    if (this.#isKnown(refs)) return
    await this.#read(refs)
    if (this.#isKnown(refs)) return
    const missing = new Map(refs.filter(({ number }) => number === 0).map((ref) => [keyOf(ref), ref]))
    await this.#give(accountId, [...missing.values()])
    // Another request may have assigned some numbers meanwhile.
    await this.#read(refs)
    this.#isKnown(refs)
  }

  /** Finds the object of an account, or the offer, that has a number. */
  async find(accountId: string, number: number): Promise<Numbered | null> {
    const known = this.#found.get(String(number))
    // The object may have moved to another account since it was cached.
    const found = known && isOf(known, accountId) ? known : await this.#load(number)
    return found && isOf(found, accountId) ? found : null
  }

  async #load(number: number) {
    const query = this.#db.selectFrom('hcloud_numbers').selectAll().where('number', '=', number)
    const row = await query.executeTakeFirst()
    if (!row) return null
    const { kind, object_id: id, created_at: createdAt, account_id: accountId } = row
    const found = { kind: kind as Kind, id, createdAt, accountId } // only this class writes kinds
    this.#found.set(String(number), found)
    return found
  }

  /** Notes that an object is gone. */
  async end(accountId: string, number: number): Promise<void> {
    await this.#db
      .updateTable('hcloud_numbers')
      .set({ ended_at: this.#clock.now() })
      .where('number', '=', number)
      .where('account_id', '=', accountId)
      .where('ended_at', 'is', null)
      .execute()
  }

  #isKnown(refs: readonly Ref[]): boolean {
    for (const ref of refs) ref.number ||= this.#known.get(keyOf(ref)) ?? 0
    return refs.every(({ number }) => number !== 0)
  }

  async #read(refs: readonly Ref[]): Promise<void> {
    const ids = [...new Set(refs.flatMap(({ number, id }) => (number === 0 ? [id] : [])))]
    const rows = await this.#db
      .selectFrom('hcloud_numbers')
      .select(['number', 'kind', 'object_id'])
      .where('object_id', 'in', ids)
      .execute()
    for (const { number, kind, object_id } of rows) {
      const key = keyOf({ kind: kind as Kind, id: object_id }) // only this class writes kinds
      this.#known.set(key, number)
    }
  }

  async #give(accountId: string, refs: readonly Ref[]): Promise<void> {
    const { last } = await this.#db
      .updateTable('hcloud_counter')
      .set((eb) => ({ last: eb('last', '+', refs.length) }))
      .returning('last')
      .executeTakeFirstOrThrow()
    const now = this.#clock.now()
    const rows = refs.map(
      ({ kind, id }, at): HcloudNumberTable => ({
        number: last - refs.length + 1 + at,
        account_id: isIn(offers, kind) ? null : accountId,
        kind,
        object_id: id,
        created_at: now,
        ended_at: isIn(happenings, kind) ? now : null,
      }),
    )
    await this.#db
      .insertInto('hcloud_numbers')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['object_id', 'kind']).doNothing())
      .execute()
  }
}

function isOf(object: { accountId: string | null }, accountId: string): boolean {
  return object.accountId === null || object.accountId === accountId
}

/** Moves the numbers of objects to the account that the objects move to. */
export async function moveNumbers(tx: Queries, ids: readonly string[], accountId: string): Promise<void> {
  await tx
    .updateTable('hcloud_numbers')
    .set({ account_id: accountId })
    .where('object_id', 'in', ids)
    .where('kind', 'in', objects)
    .execute()
}

/** The event that reports an object's deletion, by the kind of the object. */
const ends = {
  server: 'server.deleted',
  ssh_key: 'ssh_key.deleted',
  snapshot: 'snapshot.deleted',
  backup: 'backup.deleted',
  own_image: 'image.deleted',
  iso: 'iso.deleted',
  network: 'network.deleted',
  firewall: 'firewall.deleted',
  volume: 'volume.deleted',
  address: 'address.deleted',
} as const satisfies Record<(typeof objects)[number], EventType>
/**
 * Returns a function that notes deletions of objects through any interface; a result equal to its limit means
 * that more remain.
 */
export function endsFollower(): (db: Database, now: number, limit: number) => Promise<number> {
  const follow = eventFollower(Object.values(ends), async (db, { account_id, type, data, created_at }) => {
    const object: Record<string, string> = JSON.parse(data)
    await db
      .updateTable('hcloud_numbers')
      .set({ ended_at: created_at })
      .where('object_id', '=', object[type.replace('.deleted', '_id')] ?? '')
      // An object that moved to another account is not gone there.
      .where('account_id', '=', account_id)
      .where('ended_at', 'is', null)
      .execute()
  })
  return async (db, _now, limit) => {
    const { last } = await db.selectFrom('hcloud_counter').select('last').executeTakeFirstOrThrow()
    return last > 0 && (await follow(db)) ? limit : 0
  }
}

/** Deletes some of an account's ended numbers beyond the newest. @returns the number deleted */
export function forgetExcessNumbers(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const ended = db.selectFrom('hcloud_numbers').select('number').where('ended_at', 'is not', null)
  const newest = ended.where('account_id', '=', accountId).orderBy('number', 'desc')
  return deleteFound(db, 'hcloud_numbers', 'number', newest.limit(limit).offset(most))
}

const withOwnIds: ReadonlySet<Kind> = new Set(objects)
/** The ids of objects are unique; a slug or an operation has a number for each of its kinds. */
const keyOf = ({ kind, id }: Pick<Ref, 'kind' | 'id'>) => (withOwnIds.has(kind) ? id : `${kind} ${id}`)

/** Deletes some of the numbers that ended before a moment. @returns the number deleted */
export function forgetNumbers(db: Database, before: number, limit: number): Promise<number> {
  const old = db.selectFrom('hcloud_numbers').select('number').where('ended_at', '<', before).limit(limit)
  return deleteFound(db, 'hcloud_numbers', 'number', old)
}
