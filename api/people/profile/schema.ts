import Type from 'typebox'
import { visibleName } from '../../http/contract/fields.ts'
import { NewPassword, OwnCode, OwnPassword, password } from '../guard/schema.ts'
import { EmailAddress, Language } from '../person/schema.ts'

export const PersonUpdate = Type.Object(
  { name: Type.Optional(visibleName(64, 'Ann')), language: Type.Optional(Language) },
  { title: 'PersonUpdate', description: 'What to change; the rest stays', minProperties: 1 },
)

export const EmailChangeRequest = Type.Object(
  { email: EmailAddress, password: OwnPassword, code: OwnCode },
  { title: 'EmailChangeRequest', description: 'The address to be, and who is signed in shows who she is' },
)

export const PersonDeletion = Type.Object(
  { password: OwnPassword, code: OwnCode },
  { title: 'PersonDeletion', description: 'Who is signed in shows again who she is' },
)

export const PasswordChange = Type.Object(
  {
    current_password: Type.Optional(password('The password as it is; required if the person has one')),
    new_password: NewPassword,
  },
  { title: 'PasswordChange', description: 'A password in the place of another one' },
)
