import type { Database } from '../database/database.ts'
import { isSelected } from '../database/labels.ts'
import { prepared } from '../database/prepared.ts'
import { firewallLinks } from '../firewalls/queries.ts'
import type { Server } from '../servers/schema.ts'
import { volumeLinks } from '../volumes/queries.ts'

/** The volumes and firewalls of servers. One statement reads both; the routes of /v1 would take two. */
export class Links {
  readonly #volumes = new Map<string, string[]>()
  readonly #firewalls: readonly Link[]

  /** @param rows in any order: sorting no rows costs the database more than finding none */
  constructor(rows: Link[]) {
    rows.sort((one, other) => (one.id < other.id ? 1 : -1))
    this.#firewalls = rows.filter(({ kind }) => kind === 'firewall')
    for (const { kind, server_id, id } of rows)
      if (kind === 'volume' && server_id !== null)
        this.#volumes.set(server_id, [...(this.#volumes.get(server_id) ?? []), id])
  }

  /** The ids of a server's volumes, newest first. */
  volumesOf({ server_id }: Server): readonly string[] {
    return this.#volumes.get(server_id) ?? []
  }

  /** The ids of a server's firewalls, newest first. */
  firewallsOf({ server_id, labels }: Server): readonly string[] {
    if (this.#firewalls.length === 0) return []
    const isOf = (selector: string | null) =>
      selector !== null && isSelected(JSON.stringify(labels), selector)
    const own = this.#firewalls.filter((row) => row.server_id === server_id || isOf(row.selector))
    return [...new Set(own.map(({ id }) => id))]
  }
}
type Link = Awaited<ReturnType<typeof linksOf.all>>[number]

const linksOf = prepared((db, { accountId }: { accountId: string }) =>
  firewallLinks(db, accountId).unionAll(volumeLinks(db, accountId)),
)

/** Reads the volumes and firewalls of an account's servers. */
export async function readLinks(db: Database, accountId: string): Promise<Links> {
  return new Links(await linksOf.all(db, { accountId }))
}
