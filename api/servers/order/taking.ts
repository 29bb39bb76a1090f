import { type Database, dryRun, type Queries } from '../../database/database.ts'
import { ApiError } from '../../http/contract/problem.ts'
import { NO_BACKUPS } from '../backups.ts'
import type { OrderedServer, OrderPart, Reserve, TakenColumns } from './part.ts'

/** Takes all parts. @returns their columns of the server's row */
export async function takeAll(
  tx: Queries,
  parts: readonly OrderPart[],
  server: OrderedServer,
  reserve: Reserve,
): Promise<TakenColumns> {
  let taken: TakenColumns = { ssh_port: null, ipv4: null, ipv6: null, networks: '[]', ...NO_BACKUPS }
  for (const part of parts) taken = { ...taken, ...(await part.take?.(tx, server, reserve)) }
  return taken
}

/** Takes all parts in a dry run. @returns the errors of all parts that cannot be had */
export async function findBlockers(
  db: Database,
  parts: readonly OrderPart[],
  server: OrderedServer,
): Promise<ApiError[]> {
  const blockers: ApiError[] = []
  const attempt = async (run: () => Promise<unknown> | undefined): Promise<boolean> => {
    try {
      await run()
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      blockers.push(error)
      return false
    }
  }
  const possible: OrderPart[] = []
  for (const part of parts) if (await attempt(() => part.check?.(server))) possible.push(part)
  await dryRun(db, async (tx) => {
    const taken: OrderPart[] = []
    for (const part of possible) if (await attempt(() => part.take?.(tx, server, () => {}))) taken.push(part)
    for (const part of taken) await attempt(() => part.add?.(tx, server))
  })
  return blockers
}
