import { requireGrace } from '../../billing/ledger.ts'
import type { Capacity } from '../../catalog/capacity.ts'
import { type Catalog, findZone } from '../../catalog/file.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { Actor } from '../../http/contract/auth.ts'
import { bodyIssue, found, type Issue, invalid } from '../../http/contract/problem.ts'
import type { Remember } from '../../http/contract/route.ts'
import type { Engine } from '../../operations/engine.ts'
import type { Secrets } from '../../secrets.ts'
import { begin, type Started } from '../begin.ts'
import { requireTurnOn } from '../changes.ts'
import { guard, requireUnprotected } from '../guard.ts'
import { loginColumns, readLogin } from '../login.ts'
import { serverProblems } from '../schema.ts'
import { holdSource, readSource, type Source } from '../source.ts'
import { turnsOn } from '../states.ts'
import { lockServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import { storedKeys } from '../view.ts'
import type { RebuildRequest } from './schema.ts'

export interface RebuildOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
  secrets: Secrets
  engine: Engine
  /** Time that servers keep running after the balance is used up. */
  graceMs: number
}

/**
 * Begins to replace the disk of a server by a new one from a template, a snapshot or an image. All else of the server stays.
 * @throws ApiError validation_failed, server_not_found, server_state_conflict, operation_in_progress, delete_protected,
 *   insufficient_balance, not_supported
 */
export async function rebuild(
  options: RebuildOptions,
  actor: Actor,
  { server_id }: ServerTable,
  request: RebuildRequest,
  remember: Remember,
): Promise<Started> {
  const { db, clock, secrets, engine } = options
  const { keys, issues: loginIssues } = await readLogin(db, actor.accountId, request)
  const started = await db.transaction().execute(async (tx) => {
    const server = found(await lockServer(tx, server_id), serverProblems.server_not_found)
    const { source, issues } = await readSystem(tx, options, server, request)
    if (!source || issues.length + loginIssues.length > 0) throw invalid([...issues, ...loginIssues])
    await guard(tx, server, 'rebuild')
    requireUnprotected(server)
    await requireMeans(tx, options, server, 'rebuild')
    const columns = loginColumns(secrets, request.ssh_key_ids ? keys : storedKeys(server), request.user_data)
    const user_data = request.user_data === undefined ? server.user_data : columns.user_data
    await holdSource(tx, actor.accountId, source)
    const { templateId: template_id, username, snapshotId: source_id } = source
    const login = { template_id, source_id, username, ...columns, user_data }
    const change = { snapshot_id: source_id }
    const begun = await begin(tx, server, 'rebuild', { login }, { now: clock.now(), change })
    await remember(tx, begun.operation.operation_id)
    return begun
  })
  engine.wake()
  return started
}

/** A rebuilt or restored server runs afterwards, so the account must afford a start or reboot. */
export async function requireMeans(
  tx: Queries,
  { capacity, clock, graceMs }: RebuildOptions,
  server: ServerTable,
  action: 'rebuild' | 'restore' | 'rescue' | 'unrescue',
): Promise<void> {
  const { account_id, price_hour } = server
  if (!turnsOn(action, server.status)) return requireGrace(tx, account_id, price_hour, clock.now() - graceMs)
  await requireTurnOn({ capacity }, tx, server, price_hour)
}

/** Checks the template, the snapshot or the image of a request, which must fit the server. */
async function readSystem(
  tx: Queries,
  { catalog }: RebuildOptions,
  server: ServerTable,
  request: RebuildRequest,
): Promise<{ source: Source | undefined; issues: Issue[] }> {
  const zone = findZone(catalog, server.zone_slug)
  const place = { zone, pool: server.pool }
  const { source, issue } = await readSource(tx, catalog, server.account_id, request, place)
  if (issue || !source) return { source, issues: issue ? [issue] : [] }
  if (server.disk_gb >= source.minDiskGb) return { source, issues: [] }
  const sizes = `at least ${source.minDiskGb} GB; this server has ${server.disk_gb} GB. Stop it and grow its disk first.`
  return {
    source,
    issues: [bodyIssue(source.field, 'disk_too_small', `${source.title} requires a disk of ${sizes}`)],
  }
}
