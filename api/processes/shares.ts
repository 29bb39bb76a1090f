import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'

/** Reads which process looks after each pool; a pool without a row belongs to the process with the duty. */
export async function readShares(db: Queries): Promise<Map<string, string>> {
  const rows = await shares.all(db, {})
  return new Map(rows.map(({ pool, owner }) => [pool, owner]))
}

const shares = prepared((db) =>
  db
    .selectFrom('pool_shares')
    .innerJoin('duties', 'duties.owner', 'pool_shares.given_by')
    .where('duties.name', '=', 'reconciler')
    .select(['pool_shares.pool', 'pool_shares.owner']),
)

/**
 * Assigns pools to the processes that accept them, if this process has the duty. Pools stay in place unless a process
 * has more than its share.
 */
export async function handOut(tx: Queries, self: string, pools: readonly string[]): Promise<void> {
  if ((await reconciling.first(tx, {}))?.owner !== self) return
  const living = (await takers.all(tx, {})).map(({ process_id }) => process_id)
  const before = await given.all(tx, {})
  const owners = divided(pools, living, new Map(before.map(({ pool, owner }) => [pool, owner])))
  const changed = [...owners].filter(
    ([pool, owner]) =>
      !before.some((row) => row.pool === pool && row.owner === owner && row.given_by === self),
  )
  if (changed.length === 0) return
  await tx
    .insertInto('pool_shares')
    .values(changed.map(([pool, owner]) => ({ pool, owner, given_by: self })))
    .onConflict((conflict) =>
      conflict
        .column('pool')
        .doUpdateSet((eb) => ({ owner: eb.ref('excluded.owner'), given_by: eb.ref('excluded.given_by') })),
    )
    .execute()
}

const given = prepared((db) => db.selectFrom('pool_shares').selectAll())

const reconciling = prepared((db) => db.selectFrom('duties').select('owner').where('name', '=', 'reconciler'))

const takers = prepared((db) =>
  db.selectFrom('processes').select('process_id').where('takes_pools', '=', 1).orderBy('process_id'),
)

/** Divides pools evenly among processes, up to a difference of one, and moves as few as possible. */
export function divided(
  pools: readonly string[],
  living: readonly string[],
  before: ReadonlyMap<string, string>,
): Map<string, string> {
  const held = new Map(living.map((process): [string, string[]] => [process, []]))
  const free: string[] = []
  const most = Math.ceil(pools.length / living.length)
  for (const pool of pools) {
    const own = held.get(before.get(pool) ?? '')
    if (own && own.length < most) own.push(pool)
    else free.push(pool)
  }
  const fewest = () => [...held.values()].reduce((least, own) => (own.length < least.length ? own : least))
  for (const pool of free) fewest().push(pool)
  for (const own of held.values()) while (own.length > fewest().length + 1) fewest().push(own.pop() ?? '')
  return new Map([...held].flatMap(([process, own]) => own.map((pool): [string, string] => [pool, process])))
}
