import { addLoad, type Loaded, loadedAccount } from '../../accounts/accounts.ts'
import { PARTS, type Size, usageOf } from '../../catalog/usage.ts'
import type { Queries } from '../../database/database.ts'
import { prepared, type RowOf } from '../../database/prepared.ts'
import type { PortRange } from '../../drivers/driver.ts'
import { firewallsOfAccounts } from '../../firewalls/protection.ts'
import { anyFree, partOf, takenIn } from '../../ports/ports.ts'
import { readSums, type Sums, sumsIn } from '../cover.ts'
import { parts } from '../room.ts'
import type { ServerTable } from '../tables.ts'

/** The facts that decide if an account can have a server, as they are while its row is locked. */
export interface Facts {
  /** The account, which already includes the new server. */
  account: Loaded
  sums: Sums
  /** The part of the pool that servers hold. */
  used: Size
  hasFirewalls: boolean
  /** A host port for SSH; null if none was found at once. */
  freePort: number | null
}

/**
 * Counts a server in its account, whose row is locked from here on, and reads the facts. One message contains
 * two statements: a statement that waits for a lock reads other tables as they were before the wait.
 */
export async function readFacts(
  tx: Queries,
  { account_id: accountId, pool }: Pick<ServerTable, 'account_id' | 'pool'>,
  size: Size,
  sshPorts: PortRange,
): Promise<Facts> {
  await addLoad(tx, accountId, { servers: 1, ...parts(size) })
  const looked = partOf(sshPorts)
  const row = await facts.first(tx, { accountId, pool, ...looked })
  if (!row) throw new Error(`no such account: ${accountId}`)
  return {
    account: row,
    sums: readSums(row),
    // A pool whose driver is not open has no row.
    used: { cpu: row.pool_cpu ?? 0, ram_mb: row.pool_ram_mb ?? 0, disk_gb: row.pool_disk_gb ?? 0 },
    hasFirewalls: row.firewalled !== null,
    freePort: anyFree(looked, row.taken),
  }
}

interface Place {
  accountId: string
  pool: string
}

const facts = prepared((db, { accountId, pool, first, last }: RowOf<Place & PortRange>) =>
  loadedAccount(db, accountId)
    .innerJoin(sumsIn(db, accountId).as('sums'), (join) => join.onTrue())
    .leftJoin(usageOf(db, pool).as('held'), (join) => join.onTrue())
    .select(['sums.billed', 'sums.unbilled', 'sums.resizing', 'sums.funds'])
    .select(PARTS.map((part) => `held.${part} as pool_${part}` as const))
    .select([
      takenIn(db, { first, last }).as('taken'),
      firewallsOfAccounts(db).where('account_id', '=', accountId).limit(1).as('firewalled'),
    ]),
)
