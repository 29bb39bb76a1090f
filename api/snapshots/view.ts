import type { OfferedIso } from '../catalog/file.ts'
import { labelsOf } from '../database/labels.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { formatMoney } from '../money.ts'
import type { Image } from './image-schema.ts'
import type { Iso } from './iso-schema.ts'
import type { Backup, Snapshot } from './schema.ts'
import type { SnapshotTable } from './tables.ts'

const GIB = 2 ** 30

/** The size of a copy as it is billed. */
export function billedGb(bytes: number): number {
  return Math.ceil(bytes / GIB)
}

export function snapshotView(row: SnapshotTable): Snapshot {
  return {
    snapshot_id: row.snapshot_id,
    ...copyView(row),
    labels: labelsOf(row),
    price_month_rub: formatMoney(row.price_month),
  }
}

export function backupView(row: SnapshotTable): Backup {
  return { backup_id: row.snapshot_id, ...copyView(row), expires_at: isoTimeOrNull(row.expires_at) }
}

function kindOf({ base_id }: SnapshotTable) {
  return base_id === null ? ('full' as const) : ('difference' as const)
}

function copyView(row: SnapshotTable) {
  return {
    server_id: row.server_id,
    name: row.name,
    // Only an image is ever uploaded.
    status: row.status as Snapshot['status'],
    operation_id: row.operation_id,
    size_gb: row.bytes === null ? null : billedGb(row.bytes),
    kind: row.bytes === null ? null : kindOf(row),
    bytes: row.bytes === null ? null : row.bytes - row.base_bytes,
    disk_gb: row.disk_gb,
    consistency: row.consistency,
    verified_at: isoTimeOrNull(row.verified_at),
    verified_by: row.verified_by,
    boot_checked_at: isoTimeOrNull(row.boot_checked_at),
    boot_result: row.boot_result,
    offsite_at: isoTimeOrNull(row.offsite_at),
    template_id: row.template_id || null,
    zone_slug: row.zone_slug,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}

export function isoView(row: SnapshotTable): Iso {
  return { iso_id: row.snapshot_id, type: 'private', slug: null, ...fileView(row) }
}

/** An ISO of the operator. The host fetches its file for the first drive that it is put into. */
export function offeredIsoView({ isoId, slug, title }: OfferedIso): Iso {
  return {
    ...{ iso_id: isoId, type: 'public', slug, name: title, status: 'available', status_reason: null },
    ...{ operation_id: null, size_gb: null, content_bytes: null, uploaded_bytes: 0, zone_slug: null },
    ...{ price_month_rub: formatMoney(0), created_at: null, updated_at: null },
  }
}

/** The fields of an image or ISO whose file may be received in parts. */
function fileView(row: SnapshotTable) {
  return {
    name: row.name,
    status: row.status === 'creating' ? ('importing' as const) : row.status,
    status_reason: row.status_reason,
    operation_id: row.operation_id,
    size_gb: row.bytes === null ? null : billedGb(row.bytes),
    content_bytes: row.content_bytes,
    uploaded_bytes: row.uploaded_bytes,
    zone_slug: row.zone_slug,
    price_month_rub: formatMoney(row.price_month),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}

export function imageView(row: SnapshotTable): Image {
  return {
    image_id: row.snapshot_id,
    ...fileView(row),
    labels: labelsOf(row),
    offsite_at: isoTimeOrNull(row.offsite_at),
    template_id: row.template_id || null,
    os_family: row.os_family,
    default_username: row.username,
    min_disk_gb: row.disk_gb || null,
  }
}
