import Type, { type Static } from 'typebox'
import { RoleName } from '../../accounts/schema.ts'
import { CreatedAt, nullable, timestamp, uuid, visibleName } from '../../http/contract/fields.ts'
import { NewPassword } from '../guard/schema.ts'
import { Email, EmailAddress, Language, LinkToken } from '../person/schema.ts'
import { AcceptedTerms } from '../sign-in/terms.ts'

export const Invitation = Type.Object(
  {
    invitation_id: uuid('01a1fb44-5b30-7d4c-8b2a-9f8e7d6c5b4a', 'Id of the invitation'),
    email: Email,
    role: RoleName,
    invited_by: nullable(Email, { description: 'Address of the person who sent it; null if a token did' }),
    created_at: CreatedAt,
    expires_at: timestamp('When its link stops working', '2026-11-27T12:00:00.000Z'),
  },
  { title: 'Invitation', description: 'A person who is invited to the account' },
)
export type Invitation = Static<typeof Invitation>

export const InvitationCreate = Type.Object(
  { email: EmailAddress, role: RoleName, language: Type.Optional(Language) },
  { title: 'InvitationCreate', description: 'Person to invite, and their role' },
)

export const OpenInvitation = Type.Object(
  {
    account_name: Type.String({ description: 'Name of the account', examples: ['Ann'] }),
    email: Email,
    role: RoleName,
    expires_at: timestamp('When the link stops working', '2026-11-27T12:00:00.000Z'),
    has_person: Type.Boolean({
      description: 'Whether a person has signed up with the address, and must sign in to accept',
      examples: [false],
    }),
  },
  { title: 'OpenInvitation', description: 'The invitation that a link is for' },
)

export const InvitationAcceptance = Type.Object(
  {
    token: LinkToken,
    name: Type.Optional(visibleName(64, 'Ann')),
    password: Type.Optional(NewPassword),
    accepted_terms: AcceptedTerms,
  },
  {
    title: 'InvitationAcceptance',
    description: 'The link, and for a new person their name and password, which are ignored otherwise',
  },
)
