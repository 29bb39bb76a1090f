/** The tables of customers' objects, each with its id column. */
export const owned = {
  servers: 'server_id',
  snapshots: 'snapshot_id',
  addresses: 'address_id',
  volumes: 'volume_id',
  networks: 'network_id',
  firewalls: 'firewall_id',
} as const
export type Owned = keyof typeof owned

/** The objects in a path or in the items of a list, by the first segment of the path. */
const kinds: Readonly<Record<string, { table: Owned; id: string }>> = {
  ...Object.fromEntries(
    Object.entries(owned).map(([table, id]) => [table, { table: table as Owned, id }]), // a key of the table
  ),
  images: { table: 'snapshots', id: 'image_id' },
  backups: { table: 'snapshots', id: 'backup_id' },
  isos: { table: 'snapshots', id: 'iso_id' },
}

/** Returns the objects that a reply reveals, by its contents or by its path. */
export function shownIn(path: string, body: unknown): { table: Owned; id: string }[] {
  const [, first = '', own] = /^\/(\w+)(?:\/([^/?]+))?/.exec(path) ?? []
  const kind = kinds[first]
  if (!kind) return []
  if (own !== undefined) return [{ table: kind.table, id: own }]
  const { items = [] } = (body ?? {}) as { items?: Record<string, unknown>[] } // a list, or an object
  return items.map((item) => ({ table: kind.table, id: String(item[kind.id]) }))
}

/** The times at which servers move between accounts; meanwhile either account may own a server. */
export class Moves {
  readonly #elapsed: () => number
  readonly #moved = new Set<string>()
  #open = 0
  #last = Number.NEGATIVE_INFINITY

  /** @param elapsed milliseconds of the simulated time */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  async during<Result>(move: () => Promise<Result>): Promise<Result> {
    this.#open += 1
    try {
      return await move()
    } finally {
      this.#open -= 1
      this.#last = this.#elapsed()
    }
  }

  /** Records that a server has moved to another account. */
  note(serverId: string): void {
    this.#moved.add(serverId)
  }

  has(serverId: string): boolean {
    return this.#moved.has(serverId)
  }

  /** True if a move was in progress at any time since this moment. */
  since(elapsed: number): boolean {
    return this.#open > 0 || this.#last >= elapsed
  }
}
