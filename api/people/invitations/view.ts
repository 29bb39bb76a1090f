import { isoTime } from '../../http/contract/fields.ts'
import type { InvitationTable } from '../person/tables.ts'
import type { Invitation } from './schema.ts'

export function invitationView(row: InvitationTable): Invitation {
  return {
    invitation_id: row.invitation_id,
    email: row.email,
    role: row.role,
    invited_by: row.invited_by,
    created_at: isoTime(row.created_at),
    expires_at: isoTime(row.expires_at),
  }
}
