import Type, { type Static } from 'typebox'
import { PersonId, RoleName } from '../../accounts/schema.ts'
import { CreatedAt, uuid } from '../../http/contract/fields.ts'
import { Email } from '../person/schema.ts'

export const MemberId = uuid('01a1fb44-5b20-7f1e-9a8b-7c6d5e4f3a2b', 'Id of a membership')

export const Member = Type.Object(
  {
    member_id: MemberId,
    person_id: PersonId,
    email: Email,
    name: Type.String({ description: 'Name of the person', examples: ['Ann'] }),
    role: RoleName,
    created_at: CreatedAt,
  },
  { title: 'Member', description: 'A person in the account' },
)
export type Member = Static<typeof Member>

export const MemberUpdate = Type.Object(
  { role: RoleName },
  { title: 'MemberUpdate', description: 'The new role' },
)
