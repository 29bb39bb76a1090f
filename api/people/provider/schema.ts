import Type from 'typebox'

export const identityTicket = () =>
  Type.String({
    minLength: 1,
    maxLength: 2_000,
    description:
      'Ticket for `POST /person/identity`, after the person has signed in as usual. Valid once, for 10 minutes',
    examples: ['q83vEjRWeJCrze8SNFZ4kA'],
  })

export const IdentityTicket = Type.Object(
  { identity_ticket: identityTicket() },
  { title: 'IdentityTicket', description: 'A ticket for the identity at the provider' },
)
