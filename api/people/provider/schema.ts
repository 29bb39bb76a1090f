import Type from 'typebox'
import { nullable } from '../../http/contract/fields.ts'
import { Language, SealedTicket, SignIn } from '../person/schema.ts'

export const ProviderBeginning = Type.Object(
  {
    ticket: SealedTicket,
    url: Type.String({
      description: 'Page of the provider to open in the browser',
      examples: ['https://accounts.example.com/authorize?client_id=berth&response_type=code'],
    }),
  },
  { title: 'ProviderBeginning', description: 'Where a browser goes to sign in elsewhere' },
)

export const ProviderAnswer = Type.Object(
  {
    ticket: SealedTicket,
    answer: Type.String({
      minLength: 1,
      maxLength: 8_000,
      description: 'The query that the provider led back with, without the question mark',
      examples: ['code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj'],
    }),
    language: Type.Optional(Language),
  },
  { title: 'ProviderAnswer', description: 'What came back from the provider, and what was begun' },
)

const identityTicket = () =>
  Type.String({
    minLength: 1,
    maxLength: 2_000,
    description: 'For `POST /person/identity`, once she has signed in as usual, within 10 minutes and once',
    examples: ['q83vEjRWeJCrze8SNFZ4kA'],
  })

export const ProviderSignIn = Type.Object(
  {
    ...SignIn.properties,
    identity_ticket: nullable(identityTicket(), {
      description:
        'Where a person has signed up with the address already: for `POST /person/identity`, once she has signed in as usual, within 10 minutes and once; else null',
    }),
  },
  { title: 'ProviderSignIn', description: 'How far signing in with the provider has come' },
)

export const IdentityTicket = Type.Object(
  { identity_ticket: identityTicket() },
  { title: 'IdentityTicket', description: 'Whom the provider has signed in' },
)
