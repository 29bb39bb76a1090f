import type { Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { DutyTable, PoolShareTable, ProcessTable } from './tables.ts'

/** All processes of an installation, and how they share its work. */
export interface Group {
  /** Sorted by their ids. */
  processes: readonly ProcessTable[]
  duties: readonly DutyTable[]
  shares: readonly PoolShareTable[]
}

export async function readGroup(db: Queries): Promise<Group> {
  return {
    processes: await allProcesses.all(db, {}),
    duties: await allDuties.all(db, {}),
    shares: await allShares.all(db, {}),
  }
}

const allProcesses = prepared((db) => db.selectFrom('processes').selectAll().orderBy('process_id'))
const allDuties = prepared((db) => db.selectFrom('duties').selectAll())
const allShares = prepared((db) => db.selectFrom('pool_shares').selectAll())

const reconcilerOf = ({ duties }: Group) => duties.find(({ name }) => name === 'reconciler')?.owner

/** Tells which process looks after each pool; a pool that is missing belongs to the process with the duty. */
export function sharesInForce(group: Group): Map<string, string> {
  const giver = reconcilerOf(group)
  const inForce = group.shares.filter(({ given_by }) => given_by === giver)
  return new Map(inForce.map(({ pool, owner }) => [pool, owner]))
}

/**
 * Assigns pools to the processes that accept them, if this process has the duty. Pools stay in place unless a process
 * has more than its share.
 * @returns the assignments that are new
 */
export function changedShares(group: Group, self: string, pools: readonly string[]): PoolShareTable[] {
  const takers = group.processes.filter(({ takes_pools }) => takes_pools === 1)
  if (reconcilerOf(group) !== self || takers.length === 0) return []
  const before = new Map(group.shares.map(({ pool, owner }) => [pool, owner]))
  const ids = takers.map(({ process_id }) => process_id)
  const inForce = sharesInForce(group)
  const wanted = [...divided(pools, ids, before)].filter(([pool, owner]) => inForce.get(pool) !== owner)
  return wanted.map(([pool, owner]) => ({ pool, owner, given_by: self }))
}

export async function saveShares(db: Queries, shares: readonly PoolShareTable[]): Promise<void> {
  await db
    .insertInto('pool_shares')
    .values(shares)
    .onConflict((conflict) =>
      conflict
        .column('pool')
        .doUpdateSet((eb) => ({ owner: eb.ref('excluded.owner'), given_by: eb.ref('excluded.given_by') })),
    )
    .execute()
}

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
