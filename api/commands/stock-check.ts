import type { Database } from '../database/database.ts'
import type { Stock } from '../drivers/module.ts'
import type { Vault } from '../offsite/vault.ts'
import { machinesOf } from '../servers/queries.ts'
import { isBusy } from '../servers/states.ts'
import { keptCopies } from '../snapshots/queries.ts'
import { keptVolumes } from '../volumes/queries.ts'

/** A difference between the database and the files on the host or off site. */
export interface Finding {
  kind: string
  id: string
  name: string
  state: 'missing' | 'orphaned' | 'broken' | 'only off site'
}

type Names = ReadonlyMap<string, { name: string; isOwed: boolean }>

/** Reads the rows of a pool, grouped by their kind of object on the host. */
async function rowsOf(db: Database, pool: string) {
  const machines = (await machinesOf(db, pool)).map((row) => {
    const isOwed = row.has_disk === 1 && !isBusy(row)
    return [row.server_id, { name: row.name, isOwed }] as const
  })
  const copies = await keptCopies(db, pool)
  const volumes = (await keptVolumes(db, pool)).map(({ volume_id, name }) => {
    return [volume_id, { name, isOwed: true }] as const
  })
  return { machines: new Map(machines), copies, volumes: new Map(volumes) }
}

/**
 * Compares the database with a host's disk. The service may be running: rows are read before and after the
 * disk, so that objects made or deleted meanwhile are not reported.
 */
export async function findOnHost(
  db: Database,
  pool: string,
  look: () => Promise<Stock>,
  isOffsite: (copy: Awaited<ReturnType<typeof keptCopies>>[number]) => boolean,
): Promise<Finding[]> {
  const before = await rowsOf(db, pool)
  const stock = await look()
  const after = await rowsOf(db, pool)
  const bothOf = (first: Names, second: Names) => ({ first, second })
  const copies = (rows: typeof before.copies): Names =>
    new Map(
      rows.map((row) => {
        const isOwed = row.status === 'available' && row.deleted_at === null
        return [row.snapshot_id, { name: row.name, isOwed }]
      }),
    )
  const found = [
    ...differences('server', bothOf(before.machines, after.machines), stock.machines),
    ...differences('copy', bothOf(copies(before.copies), copies(after.copies)), stock.snapshots),
    ...differences(
      'volume',
      bothOf(before.volumes, after.volumes),
      new Map([...stock.volumes].map((id) => [id, true])),
    ),
  ]
  const offsite = new Set(after.copies.filter(isOffsite).map(({ snapshot_id }) => snapshot_id))
  const damaged = after.copies.filter(
    ({ status, bytes, deleted_at }) => status === 'error' && bytes !== null && deleted_at === null,
  )
  return [
    ...found.map((one) =>
      one.kind === 'copy' && one.state === 'missing' && offsite.has(one.id)
        ? { ...one, state: 'only off site' as const }
        : one,
    ),
    ...damaged.map(({ snapshot_id, name }) => {
      return { kind: 'copy', id: snapshot_id, name, state: 'broken' as const }
    }),
  ]
}

/** @param there the objects there; false: an object is incomplete */
function differences(
  kind: string,
  { first, second }: { first: Names; second: Names },
  there: ReadonlyMap<string, boolean>,
): Finding[] {
  const lacking = [...first].filter(([id, row]) => row.isOwed && second.get(id)?.isOwed && !there.get(id))
  const strange = [...there.keys()].filter((id) => !first.has(id) && !second.has(id))
  return [
    ...lacking.map(([id, { name }]) => {
      return { kind, id, name, state: there.has(id) ? ('broken' as const) : ('missing' as const) }
    }),
    ...strange.map((id) => ({ kind, id, name: '', state: 'orphaned' as const })),
  ]
}

/** Compares the database with the place off site, of which only the names are read. */
export async function findOffsite(db: Database, vault: Vault): Promise<Finding[]> {
  const rows = async () =>
    (await keptCopies(db, null)).filter(({ offsite_place }) => offsite_place === vault.place)
  const before = await rows()
  const there = new Set(await vault.list())
  const after = await rows()
  const names = (all: typeof before): Names =>
    new Map(all.map((row) => [row.snapshot_id, { name: row.name, isOwed: row.offsite_at !== null }]))
  const kept = new Map([...there].map((id) => [id, true]))
  return differences('copy off site', { first: names(before), second: names(after) }, kept)
}
