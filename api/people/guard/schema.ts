import Type from 'typebox'
import { MAX_PASSWORD, MIN_PASSWORD } from './passwords.ts'

/** The password field of a sign-in. It has no rules, so that replies reveal nothing about the stored password. */
export const password = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: MAX_PASSWORD,
    description,
    examples: ['correct horse battery staple'],
  })

export const NewPassword = Type.String({
  minLength: MIN_PASSWORD,
  maxLength: MAX_PASSWORD,
  description: `The new password, ${MIN_PASSWORD} to ${MAX_PASSWORD} characters, and not a common one`,
  examples: ['correct horse battery staple'],
})

export const Code = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'A code of the app, or a recovery code; spaces and hyphens make no difference',
  examples: ['492039'],
})

export const SealedTicket = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description: 'Ticket that connects both steps; valid once, for 10 minutes',
  examples: ['q83vEjRWeJCrze8SNFZ4kA'],
})

export const OwnPassword = Type.Optional(password('The current password; required if the person has one'))

export const OwnCode = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'A code of the app, or a recovery code; required if two-factor authentication is on',
    examples: ['492039'],
  }),
)

export const OwnProof = Type.Object(
  { password: OwnPassword, code: OwnCode },
  {
    title: 'OwnProof',
    description: 'Proof of identity: the current password, and a code if two-factor authentication is on',
  },
)

export const PasswordProof = Type.Object(
  { password: OwnPassword },
  { title: 'PasswordProof', description: 'Proof of identity: the current password' },
)
