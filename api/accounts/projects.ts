import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import { type Database, type Queries, send } from '../database/database.ts'
import { countIn, type Page, pageOf } from '../database/page.ts'
import { prepared, type RowOf } from '../database/prepared.ts'
import { record } from '../events/outbox.ts'
import type { EventType } from '../events/types.ts'
import type { Quota } from '../feature.ts'
import { ApiError, bodyIssue, found, type Issue, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { lockAccount, takeRoom } from './accounts.ts'
import { accountProblems } from './schema.ts'
import type { ProjectTable } from './tables.ts'
import { type ProjectRow, projectView } from './view.ts'

export function listProjects(db: Queries, accountId: string, page: Page) {
  const newest = withDefault(db).where('projects.account_id', '=', accountId).orderBy('project_id', 'desc')
  return pageOf(newest, page)
}

export function findProject(db: Queries, accountId: string, projectId: string) {
  return byId.first(db, { accountId, projectId })
}

const byId = prepared((db, { accountId, projectId }: { accountId: string; projectId: string }) =>
  withDefault(db).where('projects.account_id', '=', accountId).where('project_id', '=', projectId),
)

/** Returns the names of an account's projects, by id. */
export async function projectNames(db: Queries, accountId: string): Promise<Map<string, string>> {
  const own = db.selectFrom('projects').select(['project_id', 'name']).where('account_id', '=', accountId)
  return new Map((await own.execute()).map(({ project_id, name }) => [project_id, name]))
}

/** @throws ApiError quota_exceeded */
export async function createProject(
  db: Database,
  clock: Clock,
  accountId: string,
  project: { name: string; description: string | null },
  remember: Remember,
): Promise<ProjectRow> {
  const now = clock.now()
  const row: ProjectTable = {
    project_id: uuid(),
    account_id: accountId,
    ...project,
    server_count: 0,
    created_at: now,
    updated_at: now,
  }
  return db.transaction().execute(async (tx) => {
    const account = await takeRoom(tx, accountId, [projectQuota])
    await send(tx, insertion.with(tx, row))
    const created = { ...row, default_project_id: account.default_project_id }
    await recordEvent(tx, 'project.created', created, now)
    await remember(tx, row.project_id)
    return created
  })
}

const insertion = prepared((db, row: RowOf<ProjectTable>) => db.insertInto('projects').values(row))

/**
 * @param check is called with the current project, while it is locked
 * @throws ApiError project_not_found, what check throws
 */
export async function updateProject(
  db: Database,
  clock: Clock,
  { account_id, project_id }: ProjectRow,
  change: { name?: string; description?: string | null },
  check: (current: ProjectRow) => void,
): Promise<ProjectRow> {
  return db.transaction().execute(async (tx) => {
    await lockAccount(tx, account_id)
    // The project may have been deleted since it was found.
    const current = found(await findProject(tx, account_id, project_id), accountProblems.project_not_found)
    check(current)
    const changed = { ...change, updated_at: clock.now() }
    await tx.updateTable('projects').set(changed).where('project_id', '=', project_id).execute()
    const project = { ...current, ...changed }
    await recordEvent(tx, 'project.updated', project, changed.updated_at)
    return project
  })
}

export const projectQuota: Quota = {
  name: 'projects',
  description: 'Projects',
  limit: 50,
  example: 2,
  count: (db, accountId) => countIn(db.selectFrom('projects').where('account_id', '=', accountId)),
}

/** @throws ApiError project_is_default, project_not_empty */
export async function deleteProject(db: Database, clock: Clock, project: ProjectRow): Promise<void> {
  if (project.project_id === project.default_project_id)
    throw new ApiError(
      accountProblems.project_is_default,
      'The default project cannot be deleted: servers are created in it if no project is given.',
    )
  const isDeleted = await db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('projects')
      .where('project_id', '=', project.project_id)
      .where('server_count', '=', 0)
      .executeTakeFirst()
    if (numDeletedRows > 0n) await recordEvent(tx, 'project.deleted', project, clock.now())
    return numDeletedRows > 0n
  })
  if (isDeleted) return
  throw new ApiError(
    accountProblems.project_not_empty,
    'The project still has servers. Delete them or move them to another project first.',
  )
}

/**
 * Counts the servers of a project.
 * @throws ApiError validation_failed if the account has no such project, at the latest with the commit
 */
export function countInProject(
  tx: Queries,
  accountId: string,
  projectId: string,
  change: 1 | -1,
): Promise<void> {
  const counted = counting.with(tx, { accountId, projectId, change })
  return send(tx, counted, change === 1 ? () => invalid([unknownProject()]) : undefined)
}

const counting = prepared((db, values: { accountId: string; projectId: string; change: number }) =>
  db
    .updateTable('projects')
    .set((eb) => ({ server_count: eb('server_count', '+', values.change) }))
    .where('project_id', '=', values.projectId)
    .where('account_id', '=', values.accountId),
)

/** The issue with a project that does not exist, or belongs to another account. */
export function unknownProject(): Issue {
  return bodyIssue('project_id', 'not_found', 'No such project.')
}

function recordEvent(tx: Queries, type: EventType, project: ProjectRow, at: number): Promise<void> {
  return record(tx, [{ accountId: project.account_id, type, data: projectView(project), at }])
}

/** The account refers to its default project, so that there is always exactly one. */
function withDefault(db: Queries) {
  return db
    .selectFrom('projects')
    .innerJoin('accounts', 'accounts.account_id', 'projects.account_id')
    .selectAll('projects')
    .select('accounts.default_project_id')
}
