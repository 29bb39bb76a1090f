import type { Queries } from '../../database/database.ts'
import { ApiError } from '../../http/contract/problem.ts'
import { NO_BACKUPS } from '../backups.ts'
import type { NewServer, OrderPart, TakenColumns, Taking } from './part.ts'

/** Takes all parts. @returns their columns of the server's row */
export async function takeAll(
  tx: Queries,
  parts: readonly OrderPart[],
  taking: Taking,
): Promise<TakenColumns> {
  let taken: TakenColumns = { ssh_port: null, ipv4: null, ipv6: null, networks: '[]', ...NO_BACKUPS }
  for (const part of parts) taken = { ...taken, ...(await part.take?.(tx, taking)) }
  return taken
}

/**
 * Takes all parts that are available.
 * @param inDryRun runs a function in a transaction that is undone
 * @returns the errors of all others
 */
export async function findBlockers(
  parts: readonly OrderPart[],
  server: NewServer,
  inDryRun: (run: (tx: Queries, taking: Taking) => Promise<void>) => Promise<void>,
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
  await inDryRun(async (tx, taking) => {
    const taken: OrderPart[] = []
    for (const part of possible) if (await attempt(() => part.take?.(tx, taking))) taken.push(part)
    for (const part of taken) await attempt(() => part.add?.(tx, taking))
  })
  return blockers
}
