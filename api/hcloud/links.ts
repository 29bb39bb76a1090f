import type { Database } from '../database/database.ts'
import { isSelected } from '../database/labels.ts'
import { prepared } from '../database/prepared.ts'
import { firewallLinks } from '../firewalls/queries.ts'
import type { Server } from '../servers/schema.ts'
import { volumeLinks } from '../volumes/queries.ts'

/** The volumes and firewalls of servers. One statement reads them, where the routes of /v1 would take two. */
export class Links {
  readonly #rows: Awaited<ReturnType<typeof linksOf.all>>

  constructor(rows: Awaited<ReturnType<typeof linksOf.all>>) {
    this.#rows = rows
  }

  /** The ids of a server's volumes, newest first. */
  volumesOf({ server_id }: Server): string[] {
    const own = this.#rows.filter((row) => row.kind === 'volume' && row.server_id === server_id)
    return own.map(({ id }) => id)
  }

  /** The ids of a server's firewalls, newest first. */
  firewallsOf({ server_id, labels }: Server): string[] {
    const isOf = (selector: string | null) =>
      selector !== null && isSelected(JSON.stringify(labels), selector)
    const own = this.#rows.filter(
      (row) => row.kind === 'firewall' && (row.server_id === server_id || isOf(row.selector)),
    )
    return [...new Set(own.map(({ id }) => id))]
  }
}

const linksOf = prepared((db, { accountId }: { accountId: string }) =>
  firewallLinks(db, accountId).unionAll(volumeLinks(db, accountId)).orderBy('id', 'desc'),
)

/** Reads the volumes and firewalls of an account's servers. */
export async function readLinks(db: Database, accountId: string): Promise<Links> {
  return new Links(await linksOf.all(db, { accountId }))
}
