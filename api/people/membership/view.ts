import { isoTime } from '../../http/contract/fields.ts'
import type { MemberTable, PersonTable } from '../person/tables.ts'
import type { Member } from './schema.ts'

export function memberView(row: MemberTable & Pick<PersonTable, 'email' | 'name'>): Member {
  return {
    member_id: row.member_id,
    person_id: row.person_id,
    email: row.email,
    name: row.name,
    role: row.role,
    created_at: isoTime(row.created_at),
  }
}
