import type { Catalog } from '../catalog/file.ts'
import { onSale, type Zone } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import { ApiError, bodyIssue, type Issue } from '../http/contract/problem.ts'
import { imageProblems } from '../snapshots/image-schema.ts'
import { snapshotProblems } from '../snapshots/schema.ts'
import { findSnapshot, holdSnapshot } from '../snapshots/snapshots.ts'
import { readTemplate } from './template.ts'

/** The system on a new disk: from a template, a snapshot or an image. */
export interface Source {
  /** Empty for an image without a template. */
  templateId: string
  /** The login user, if it is not the template's. */
  username: string | null
  /** The id of the snapshot or the image. */
  snapshotId: string | null
  title: string
  minDiskGb: number
  /** The field of the request that names it. */
  field: 'template' | 'template_id' | 'snapshot_id' | 'image_id'
}

interface Named {
  template?: string
  template_id?: string
  snapshot_id?: string
  image_id?: string
}

/**
 * Finds the template, the snapshot or the image that a request names.
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
  const { snapshot_id, image_id, template: slug } = request
  const id = snapshot_id ?? image_id
  if (id === undefined) {
    const { template, issue } = readTemplate(request, onSale(catalog).templates, place.zone)
    const field = slug === undefined ? 'template_id' : 'template'
    return { source: template && { ...template, username: null, snapshotId: null, field }, issue }
  }
  const [noun, field] =
    image_id === undefined ? (['snapshot', 'snapshot_id'] as const) : (['image', 'image_id'] as const)
  const row =
    (await findSnapshot(db, accountId, id, noun)) ??
    (snapshot_id === undefined ? undefined : await findSnapshot(db, accountId, snapshot_id, 'backup'))
  const fault = (message: string) => ({ source: undefined, issue: bodyIssue(field, 'not_found', message) })
  if (row?.status !== 'available') return fault(`No available ${noun}: ${id}.`)
  if (row.pool !== place.pool)
    return fault(`The ${noun} is of zone ${row.zone_slug}; servers of other zones can't be created from it.`)
  const { template_id: templateId, username, disk_gb: minDiskGb } = row
  return {
    source: { templateId, username, snapshotId: id, minDiskGb, title: `The ${noun}`, field },
    issue: null,
  }
}

/**
 * Keeps the snapshot or the image of a source until this transaction ends, after which the row of its server keeps it.
 * @throws ApiError snapshot_not_found, image_not_found
 */
export async function holdSource(tx: Queries, accountId: string, source: Source | undefined): Promise<void> {
  const id = source?.snapshotId ?? null
  if (id === null || (await holdSnapshot(tx, accountId, id))) return
  throw source?.field === 'image_id'
    ? new ApiError(imageProblems.image_not_found, 'The image was deleted.')
    : new ApiError(snapshotProblems.snapshot_not_found, 'The snapshot was deleted.')
}
