import type { Catalog } from '../catalog/file.ts'
import { onSale, type Zone } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import { ApiError, bodyIssue, type Issue } from '../http/contract/problem.ts'
import { snapshotProblems } from '../snapshots/schema.ts'
import { findSnapshot, holdSnapshot } from '../snapshots/snapshots.ts'
import { readTemplate } from './template.ts'

/** The system that a new disk begins with: a template's, or that of a snapshot. */
export interface Source {
  templateId: string
  snapshotId: string | null
  title: string
  minDiskGb: number
  /** The field of the request that names it. */
  field: 'template' | 'template_id' | 'snapshot_id'
}

interface Named {
  template?: string
  template_id?: string
  snapshot_id?: string
}

/**
 * Finds the template or the snapshot that a request names.
 * @param place the zone of the server, and its pool
 * @returns undefined if it names none, or an unknown one
 */
export async function readSource(
  db: Queries,
  catalog: Catalog,
  accountId: string,
  request: Named,
  place: { zone: Zone | undefined; pool: string },
): Promise<{ source: Source | undefined; issue: Issue | null }> {
  const { snapshot_id, template: slug } = request
  if (snapshot_id === undefined) {
    const { template, issue } = readTemplate(request, onSale(catalog).templates, place.zone)
    const field = slug === undefined ? 'template_id' : 'template'
    return { source: template && { ...template, snapshotId: null, field }, issue }
  }
  const row = await findSnapshot(db, accountId, snapshot_id)
  const fault = (message: string) => ({
    source: undefined,
    issue: bodyIssue('snapshot_id', 'not_found', message),
  })
  if (row?.status !== 'available') return fault(`No available snapshot: ${snapshot_id}.`)
  if (row.pool !== place.pool)
    return fault(`The snapshot is of zone ${row.zone_slug}; servers of other zones can't be created from it.`)
  const source = { templateId: row.template_id, snapshotId: snapshot_id, minDiskGb: row.disk_gb }
  return { source: { ...source, title: 'The snapshot', field: 'snapshot_id' }, issue: null }
}

/**
 * Keeps the snapshot of a source until this transaction ends, after which the row of its server keeps it.
 * @throws ApiError snapshot_not_found
 */
export async function holdSource(tx: Queries, accountId: string, source: Source | undefined): Promise<void> {
  const id = source?.snapshotId ?? null
  if (id !== null && !(await holdSnapshot(tx, accountId, id)))
    throw new ApiError(snapshotProblems.snapshot_not_found, 'The snapshot was deleted.')
}
