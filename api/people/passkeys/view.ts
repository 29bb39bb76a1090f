import { isoTime, isoTimeOrNull } from '../../http/contract/fields.ts'
import type { PasskeyTable } from '../person/tables.ts'
import type { Passkey } from './schema.ts'

export function passkeyView(row: PasskeyTable): Passkey {
  return {
    passkey_id: row.passkey_id,
    name: row.name,
    is_synced: row.is_synced === 1,
    created_at: isoTime(row.created_at),
    last_used_at: isoTimeOrNull(row.last_used_at),
  }
}
