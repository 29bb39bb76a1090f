import Type from 'typebox'
import { timestamp } from '../http/contract/fields.ts'

export const LoginLink = Type.Object(
  {
    url: Type.String({
      description: 'Address in the console that signs the owner in, once',
      examples: ['https://cloud.example.com/sign-in#Yb1xmQ'],
    }),
    email: Type.String({
      description:
        'The address of the owner, whom it signs in to all of their accounts. Give it to nobody who has not proven that this address is theirs',
      examples: ['ann@example.com'],
    }),
    expires_at: timestamp('When the link expires'),
  },
  { title: 'LoginLink', description: 'A link that signs the owner of an account in' },
)
