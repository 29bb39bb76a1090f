import { labelsOf } from '../database/labels.ts'
import { isoTime } from '../http/contract/fields.ts'
import { formatMoney } from '../money.ts'
import type { Volume } from './schema.ts'
import type { VolumeTable } from './tables.ts'

export function volumeView(row: VolumeTable): Volume {
  return {
    volume_id: row.volume_id,
    name: row.name,
    size_gb: row.size_gb,
    zone_slug: row.zone_slug,
    status: row.status,
    server_id: row.server_id,
    device: row.device,
    labels: labelsOf(row),
    price_month_rub: formatMoney(row.price_month),
    price_hour_rub: formatMoney(row.price_hour, 4),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}
