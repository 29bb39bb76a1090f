import type { Database } from '../database/database.ts'
import { Recent } from '../http/limits/recent.ts'
import { projectsOf } from '../servers/queries.ts'
import type { Server } from '../servers/schema.ts'

const MOST_CACHED = 100_000

/** The projects of servers. No server is ever moved to another one, so each is read once. */
export class Projects {
  readonly #db: Database
  readonly #known = new Recent<string>(MOST_CACHED)

  constructor(db: Database) {
    this.#db = db
  }

  note({ server_id, project_id }: Pick<Server, 'server_id' | 'project_id'>): void {
    this.#known.set(server_id, project_id)
  }

  /** Those of an account's servers that are in other projects. One that is gone for long is in none. */
  async others(
    { accountId, projectId }: { accountId: string; projectId: string },
    serverIds: readonly (string | null)[],
  ): Promise<ReadonlySet<string>> {
    const ids = [...new Set(serverIds.filter((id) => id !== null))]
    const unknown = ids.filter((id) => this.#known.get(id) === undefined)
    if (unknown.length > 0) for (const row of await projectsOf(this.#db, accountId, unknown)) this.note(row)
    return new Set(ids.filter((id) => (this.#known.get(id) ?? projectId) !== projectId))
  }
}
