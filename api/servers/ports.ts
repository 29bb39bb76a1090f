import { randomInt } from 'node:crypto'
import { catalogProblems } from '../catalog/schema.ts'
import type { Queries } from '../database/database.ts'
import { ApiError } from '../http/problem.ts'
import { isPortFree, usedPorts } from './store.ts'

export interface PortRange {
  first: number
  last: number
}

const QUICK_TRIES = 16

/**
 * A port of the range that no server has. Random ones are tried first: that costs the same for ten servers as for
 * ten thousand, and a port that was just given back is not handed to a stranger whose host key differs.
 * @throws ApiError capacity_unavailable
 */
export async function pickPort(
  tx: Queries,
  range: PortRange,
  exclude: readonly number[] = [],
): Promise<number> {
  for (let tries = 0; tries < QUICK_TRIES; tries++) {
    const port = randomInt(range.first, range.last + 1)
    if (!exclude.includes(port) && (await isPortFree(tx, port))) return port
  }
  const used = await usedPorts(tx)
  for (let port = range.first; port <= range.last; port++)
    if (!used.has(port) && !exclude.includes(port)) return port
  throw new ApiError(
    catalogProblems.capacity_unavailable,
    'All SSH ports of this installation are in use. Contact the operator.',
    { max_server: { cpu: 0, ram_mb: 0, disk_gb: 0 }, alternatives: [] },
  )
}
