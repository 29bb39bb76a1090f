import Type from 'typebox'
import { nullable } from '../../http/contract/fields.ts'
import { SealedTicket } from '../guard/schema.ts'
import { Language } from '../person/schema.ts'
import { identityTicket } from '../provider/schema.ts'
import { SignIn } from './schema.ts'
import { AcceptedTerms } from './terms.ts'

export const ProviderBeginning = Type.Object(
  {
    ticket: SealedTicket,
    url: Type.String({
      description: 'Page of the provider to open in the browser',
      examples: ['https://accounts.example.com/authorize?client_id=berth&response_type=code'],
    }),
  },
  { title: 'ProviderBeginning', description: 'A sign-in with the provider that has begun' },
)

export const ProviderAnswer = Type.Object(
  {
    ticket: SealedTicket,
    answer: Type.String({
      minLength: 1,
      maxLength: 8_000,
      description: 'The query of the address that the provider redirected to, without the question mark',
      examples: ['code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj'],
    }),
    language: Type.Optional(Language),
    accepted_terms: AcceptedTerms,
  },
  { title: 'ProviderAnswer', description: 'The response of the provider, and the ticket of the sign-in' },
)

export const ProviderSignIn = Type.Object(
  {
    ...SignIn.properties,
    identity_ticket: nullable(identityTicket(), {
      description:
        'Ticket for `POST /person/identity`, if the address has signed up already; null otherwise. Valid once, for 10 minutes',
    }),
  },
  { title: 'ProviderSignIn', description: 'State of the sign-in with the provider' },
)
