import Type from 'typebox'
import { visibleName } from '../../http/contract/fields.ts'
import { NewPassword, OwnCode, OwnPassword, password } from '../guard/schema.ts'
import { EmailAddress, Language, MutedMails } from '../person/schema.ts'
import { AcceptedTerms } from '../sign-in/terms.ts'

export const PersonUpdate = Type.Object(
  {
    name: Type.Optional(visibleName(64, 'Ann')),
    language: Type.Optional(Language),
    muted_mails: Type.Optional(MutedMails),
    accepted_terms: AcceptedTerms,
  },
  { title: 'PersonUpdate', description: 'Fields to change; the others stay as they are', minProperties: 1 },
)

export const EmailChangeRequest = Type.Object(
  { email: EmailAddress, password: OwnPassword, code: OwnCode },
  { title: 'EmailChangeRequest', description: 'The new address, with proof of identity' },
)

export const PasswordChange = Type.Object(
  {
    current_password: Type.Optional(password('The current password; required if the person has one')),
    new_password: NewPassword,
    code: OwnCode,
  },
  { title: 'PasswordChange', description: 'The new password, with proof of identity' },
)
