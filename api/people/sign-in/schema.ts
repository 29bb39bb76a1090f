import Type, { type Static } from 'typebox'
import { PersonId, RoleName } from '../../accounts/schema.ts'
import { secondCurrency } from '../../catalog/schema.ts'
import { CreatedAt, nullable, timestamp, visibleName } from '../../http/contract/fields.ts'
import { MIN_PASSWORD } from '../guard/passwords.ts'
import { Code, NewPassword, password, SealedTicket } from '../guard/schema.ts'
import { MemberId } from '../membership/schema.ts'
import {
  AccountId,
  Email,
  EmailAddress,
  Language,
  LinkToken,
  MutedMails,
  SessionId,
} from '../person/schema.ts'
import { AcceptedTerms } from './terms.ts'

const Membership = Type.Object(
  {
    account_id: AccountId,
    member_id: MemberId,
    name: Type.String({ description: 'Name of the account', examples: ['Ann'] }),
    email: Type.String({
      description: 'Contact address of the account',
      examples: ['ann@example.com'],
    }),
    status: Type.Enum(['active', 'suspended', 'closed'], { description: 'Status of the account' }),
    role: RoleName,
  },
  { description: 'An account that the person is a member of' },
)

const Terms = {
  url: Type.String({ description: 'Page of the terms', examples: ['https://example.com/terms'] }),
  version: Type.String({ description: 'Version of the terms in force', examples: ['2026-11'] }),
}

export const Person = Type.Object(
  {
    person_id: PersonId,
    email: Email,
    name: Type.String({ description: 'Name of the person', examples: ['Ann'] }),
    language: Language,
    muted_mails: MutedMails,
    is_operator: Type.Boolean({
      description: 'Whether the person runs this installation',
      examples: [false],
    }),
    has_password: Type.Boolean({
      description: 'Whether the person can sign in with a password',
      examples: [true],
    }),
    two_factor: nullable(
      Type.Object(
        {
          enabled_at: timestamp('When it was turned on'),
          recovery_codes_left: Type.Integer({
            description: 'Recovery codes that were not used yet',
            examples: [10],
          }),
        },
        { description: 'Two-factor authentication: signing in needs a code of an app' },
      ),
      { description: 'Two-factor authentication; null if it is off' },
    ),
    identity_provider: nullable(Type.String({ examples: ['accounts.example.com'] }), {
      description:
        'Host of the OpenID Connect provider that the person can sign in with; null if there is none',
    }),
    terms_due: nullable(Type.Object(Terms), {
      description:
        'Terms in force that the person has not accepted: a page should ask for that, and send the version to `PATCH /person`. Null if there are none. Tokens work regardless',
    }),
    created_at: CreatedAt,
    session_id: SessionId,
    account_id: nullable(AccountId, {
      description:
        'The account that requests are for unless `Berth-Account` names another; null if there is none',
    }),
    accounts: Type.Array(Membership, { description: 'The accounts that the person is a member of' }),
  },
  { title: 'Person', description: 'The person who is signed in, and their accounts' },
)
export type Person = Static<typeof Person>

export const SignInOptions = Type.Object(
  {
    sign_up: Type.Enum(['open', 'invitation', 'closed'], {
      description: 'Who can sign up: everybody, those who are invited, or nobody',
      examples: ['open'],
    }),
    passkey_origin: nullable(Type.String({ examples: ['https://cloud.example'] }), {
      description: 'Origin of the pages that can use passkeys; null without a host name or TLS',
    }),
    provider: nullable(
      Type.Object({
        name: Type.String({ description: 'Host name of the provider', examples: ['accounts.example.com'] }),
        origin: Type.String({
          description: 'Origin of the pages that it leads back to',
          examples: ['https://cloud.example'],
        }),
      }),
      { description: 'The OpenID Connect provider that signs people in; null if there is none' },
    ),
    operator: Type.Object(
      {
        name: nullable(Type.String({ examples: ['Example Cloud'] }), {
          description: 'Name of the hoster; null if the operator set none',
        }),
        contact: nullable(Type.String({ examples: ['support@example.com'] }), {
          description: 'E-mail address or page for questions; null if the operator set none',
        }),
        logo_url: nullable(Type.String({ examples: ['https://example.com/logo.svg'] }), {
          description: 'Picture to show beside the name; null for none',
        }),
        terms: nullable(Type.Object(Terms), {
          description: 'Terms that a new person must accept, in `accepted_terms`; null if there are none',
        }),
        second_currency: secondCurrency,
      },
      { description: 'The hoster of this installation' },
    ),
    min_password: Type.Integer({
      description: 'Minimum length of a password in characters',
      examples: [MIN_PASSWORD],
    }),
  },
  { title: 'SignInOptions', description: 'How people can sign in and up here' },
)
export type SignInOptions = Static<typeof SignInOptions>

export const SignIn = Type.Object(
  {
    is_signed_in: Type.Boolean({ description: 'Whether the cookie of a session was set', examples: [true] }),
    person: nullable(Person, { description: 'The person who has signed in' }),
    ticket: nullable(Type.String({ examples: ['q83vEjRWeJCrze8SNFZ4kA'] }), {
      description:
        'Ticket for `POST /sign-in/two-factor`, with a code; null if no code is required. Valid once, for 10 minutes',
    }),
  },
  { title: 'SignIn', description: 'State of the sign-in' },
)
export type SignIn = Static<typeof SignIn>

export const SignInRequest = Type.Object(
  { email: EmailAddress, password: password('The password') },
  { title: 'SignInRequest', description: 'E-mail address and password' },
)

export const TicketUse = Type.Object(
  {
    ticket: SealedTicket,
    code: Code,
  },
  { title: 'TicketUse', description: 'The second step of signing in' },
)

export const AddressRequest = Type.Object(
  { email: EmailAddress, language: Type.Optional(Language) },
  { title: 'AddressRequest', description: 'Address to send a mail with a link to' },
)

export const SignUpCompletion = Type.Object(
  {
    token: LinkToken,
    name: visibleName(64, 'Ann'),
    password: NewPassword,
    accepted_terms: AcceptedTerms,
  },
  {
    title: 'SignUpCompletion',
    description: 'Name and password of the new person, with the token from the mail',
  },
)

export const PasswordReset = Type.Object(
  { token: LinkToken, password: NewPassword },
  { title: 'PasswordReset', description: 'A new password, with the token from the mail' },
)
