import { isoTime } from '../../http/contract/fields.ts'
import type { Session } from './schema.ts'
import type { SessionTable } from './tables.ts'

export function sessionView(row: SessionTable, currentId: string): Session {
  return {
    session_id: row.session_id,
    is_current: row.session_id === currentId,
    address: row.address,
    user_agent: row.user_agent,
    created_at: isoTime(row.created_at),
    last_used_at: isoTime(row.last_used_at),
    expires_at: isoTime(row.expires_at),
  }
}
