import Type from 'typebox'

export const identityTicket = () =>
  Type.String({
    minLength: 1,
    maxLength: 2_000,
    description: 'For `POST /person/identity`, once she has signed in as usual, within 10 minutes and once',
    examples: ['q83vEjRWeJCrze8SNFZ4kA'],
  })

export const IdentityTicket = Type.Object(
  { identity_ticket: identityTicket() },
  { title: 'IdentityTicket', description: 'Whom the provider has signed in' },
)
