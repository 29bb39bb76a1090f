import Type, { type Static } from 'typebox'
import { PersonId, RoleName } from '../../accounts/schema.ts'
import { CreatedAt, nullable, timestamp, uuid, visibleName } from '../../http/contract/fields.ts'
import { defineProblems } from '../../http/contract/problem.ts'
import { MAX_PASSWORD, MIN_PASSWORD } from '../guard/passwords.ts'

export const peopleProblems = defineProblems({
  sign_in_failed: { status: 401, title: 'The e-mail address or the password is wrong' },
  sign_up_closed: { status: 403, title: 'Nobody can sign up here by themselves' },
  link_invalid: { status: 403, title: 'The link is not valid any more' },
  ticket_invalid: { status: 403, title: 'The sign-in took too long, or is over' },
  passkey_refused: { status: 403, title: 'The passkey was not accepted' },
  provider_refused: { status: 403, title: 'The provider did not confirm who somebody is' },
  email_unverified: { status: 403, title: 'The provider vouches for no e-mail address' },
  wrong_code: { status: 403, title: 'The code is wrong' },
  sign_in_again: { status: 403, title: 'A recent sign-in is required' },
  wrong_password: { status: 403, title: 'The password is wrong' },
  role_not_allowed: { status: 403, title: 'The role is beyond your own' },
  session_not_found: { status: 404, title: 'No such session' },
  passkey_not_found: { status: 404, title: 'No such passkey' },
  member_not_found: { status: 404, title: 'No such member' },
  invitation_not_found: { status: 404, title: 'No such invitation' },
  identity_not_found: { status: 404, title: 'The person is not connected with a provider' },
  no_provider: { status: 409, title: 'No provider to sign in with is set' },
  identity_for_another: { status: 409, title: 'The provider means another person' },
  passkeys_unavailable: { status: 409, title: 'Passkeys need a host name and TLS' },
  passkey_limit_reached: { status: 409, title: 'The person has as many passkeys as she may' },
  two_factor_on: { status: 409, title: 'Two-factor authentication is on already' },
  two_factor_off: { status: 409, title: 'Two-factor authentication is off' },
  account_in_use: { status: 409, title: 'The account has servers or owes money' },
  last_owner: { status: 409, title: 'The account would have no owner' },
  already_member: { status: 409, title: 'The person is in the account already' },
  invitation_for_another: { status: 409, title: 'The invitation is for another person' },
})

export const languages = ['en', 'ru'] as const
export const Language = Type.Enum([...languages], {
  description: 'Language of mails: English or Russian',
  examples: ['en'],
})

export const EMAIL = String.raw`^[^\s@\u0000-\u001f\u007f-\u009f<>"(),:;\[\]\\]+@[^\s@\u0000-\u001f\u007f-\u009f<>"(),:;\[\]\\]+$`
export const EmailAddress = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: EMAIL,
  description: 'E-mail address; capital letters make no difference',
  examples: ['ann@example.com'],
  errorMessage: 'must be an e-mail address such as ann@example.com.',
})

const Email = Type.String({ description: 'E-mail address, in lower case', examples: ['ann@example.com'] })

/** As it is sent to sign in: whatever is wrong with it is not what the caller is told. */
const password = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: MAX_PASSWORD,
    description,
    examples: ['correct horse battery staple'],
  })

const NewPassword = Type.String({
  minLength: MIN_PASSWORD,
  maxLength: MAX_PASSWORD,
  description: `The password to be, ${MIN_PASSWORD} to ${MAX_PASSWORD} characters, and none that many people have`,
  examples: ['correct horse battery staple'],
})

const LinkToken = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'What follows the # in the link',
  examples: ['mYh3yX1W9nJ0bq2C5vT7uR4sK8pL6dF1aG3hZ0xQeEo'],
})

const AccountId = uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Id of an account')
const SessionId = uuid('01a1fb44-5b10-7a2b-8c3d-1e2f3a4b5c6d', 'Id of a session')
export const MemberId = uuid('01a1fb44-5b20-7f1e-9a8b-7c6d5e4f3a2b', 'Id of a membership')

const Membership = Type.Object(
  {
    account_id: AccountId,
    member_id: MemberId,
    name: Type.String({ description: 'Name of the account', examples: ['Ann'] }),
    email: Type.String({
      description: 'Address that the account is known by',
      examples: ['ann@example.com'],
    }),
    status: Type.Enum(['active', 'suspended', 'closed'], { description: 'Status of the account' }),
    role: RoleName,
  },
  { description: 'An account that the person is a member of' },
)

export const Person = Type.Object(
  {
    person_id: PersonId,
    email: Email,
    name: Type.String({ description: 'Name of the person', examples: ['Ann'] }),
    language: Language,
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
      description: 'Host of the OpenID Connect provider that signs her in as well; null if none does',
    }),
    created_at: CreatedAt,
    session_id: SessionId,
    account_id: nullable(AccountId, {
      description:
        'The account that requests are for unless `Berth-Account` names another; null if there is none',
    }),
    accounts: Type.Array(Membership, { description: 'The accounts that the person is a member of' }),
  },
  { title: 'Person', description: 'Who is signed in, and where' },
)
export type Person = Static<typeof Person>

export const PersonUpdate = Type.Object(
  { name: Type.Optional(visibleName(64, 'Ann')), language: Type.Optional(Language) },
  { title: 'PersonUpdate', description: 'What to change; the rest stays', minProperties: 1 },
)

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
        name: Type.String({ description: 'What to call it: its host', examples: ['accounts.example.com'] }),
        origin: Type.String({
          description: 'Origin of the pages that it leads back to',
          examples: ['https://cloud.example'],
        }),
      }),
      { description: 'The OpenID Connect provider that signs people in; null if there is none' },
    ),
    min_password: Type.Integer({
      description: 'Characters that a password has at least',
      examples: [MIN_PASSWORD],
    }),
  },
  { title: 'SignInOptions', description: 'How people can sign in and up here' },
)

export const SignIn = Type.Object(
  {
    is_signed_in: Type.Boolean({ description: 'Whether the cookie of a session was set', examples: [true] }),
    person: nullable(Person, { description: 'Who has signed in' }),
    ticket: nullable(Type.String({ examples: ['q83vEjRWeJCrze8SNFZ4kA'] }), {
      description:
        'For `POST /sign-in/two-factor`, with a code, within 10 minutes and once; null if nothing is missing',
    }),
  },
  { title: 'SignIn', description: 'How far signing in has come' },
)
export type SignIn = Static<typeof SignIn>

export const SignInRequest = Type.Object(
  { email: EmailAddress, password: password('The password') },
  { title: 'SignInRequest', description: 'Who signs in' },
)

const Code = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'A code of the app, or a recovery code; spaces and hyphens make no difference',
  examples: ['492039'],
})

export const SealedTicket = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description: 'Connects both steps: for one use, within 10 minutes',
  examples: ['q83vEjRWeJCrze8SNFZ4kA'],
})

export const TicketUse = Type.Object(
  {
    ticket: SealedTicket,
    code: Code,
  },
  { title: 'TicketUse', description: 'The second step of signing in' },
)

const OwnPassword = Type.Optional(password('The password as it is; required if the person has one'))

export const PasswordProof = Type.Object(
  { password: OwnPassword },
  { title: 'PasswordProof', description: 'Who is signed in shows again who she is' },
)

export const CodeProof = Type.Object(
  { password: OwnPassword, code: Code },
  { title: 'CodeProof', description: 'Who is signed in shows both factors again' },
)

export const TwoFactorConfirmation = Type.Object(
  { code: Code },
  { title: 'TwoFactorConfirmation', description: 'That the app has the secret' },
)

export const TwoFactorSecret = Type.Object(
  {
    secret: Type.String({
      description: 'The secret in base 32, to be typed into an app',
      examples: ['GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
    }),
    uri: Type.String({
      description: 'The same as an otpauth URI, to be shown as a QR code',
      examples: [
        'otpauth://totp/cloud.example:ann%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=cloud.example',
      ],
    }),
  },
  { title: 'TwoFactorSecret', description: 'What an app makes codes of; shown only now' },
)

export const RecoveryCodes = Type.Object(
  {
    recovery_codes: Type.Array(Type.String({ examples: ['w8kTz-5nQbR-Hc3mY-dV7xJ'] }), {
      description: 'Ten codes, each of which signs in once in the place of one of the app',
    }),
  },
  { title: 'RecoveryCodes', description: 'For when the app is lost; shown only now' },
)

const OwnCode = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'A code of the app, or a recovery code; required if two-factor authentication is on',
    examples: ['492039'],
  }),
)

export const EmailChangeRequest = Type.Object(
  { email: EmailAddress, password: OwnPassword, code: OwnCode },
  { title: 'EmailChangeRequest', description: 'The address to be, and who is signed in shows who she is' },
)

export const PersonDeletion = Type.Object(
  { password: OwnPassword, code: OwnCode },
  { title: 'PersonDeletion', description: 'Who is signed in shows again who she is' },
)

export const AddressRequest = Type.Object(
  { email: EmailAddress, language: Type.Optional(Language) },
  { title: 'AddressRequest', description: 'Where to send a mail with a link' },
)

export const SignUpCompletion = Type.Object(
  { token: LinkToken, name: visibleName(64, 'Ann'), password: NewPassword },
  { title: 'SignUpCompletion', description: 'Who has read the mail, and will sign in with what' },
)

export const LinkUse = Type.Object(
  { token: LinkToken },
  { title: 'LinkUse', description: 'A link that was opened' },
)

export const PasswordReset = Type.Object(
  { token: LinkToken, password: NewPassword },
  { title: 'PasswordReset', description: 'A password in the place of one that was forgotten' },
)

export const PasswordChange = Type.Object(
  {
    current_password: Type.Optional(password('The password as it is; required if the person has one')),
    new_password: NewPassword,
  },
  { title: 'PasswordChange', description: 'A password in the place of another one' },
)

export const AccountChoice = Type.Object(
  { account_id: AccountId },
  { title: 'AccountChoice', description: 'The account to go on with' },
)

export const Member = Type.Object(
  {
    member_id: MemberId,
    person_id: PersonId,
    email: Email,
    name: Type.String({ description: 'Name of the person', examples: ['Ann'] }),
    role: RoleName,
    created_at: CreatedAt,
  },
  { title: 'Member', description: 'A person in the account' },
)
export type Member = Static<typeof Member>

export const MemberUpdate = Type.Object(
  { role: RoleName },
  { title: 'MemberUpdate', description: 'The role to be' },
)

export const Invitation = Type.Object(
  {
    invitation_id: uuid('01a1fb44-5b30-7d4c-8b2a-9f8e7d6c5b4a', 'Id of the invitation'),
    email: Email,
    role: RoleName,
    invited_by: nullable(Email, { description: 'Address of the person who sent it; null if a token did' }),
    created_at: CreatedAt,
    expires_at: timestamp('When its link stops working', '2026-11-27T12:00:00.000Z'),
  },
  { title: 'Invitation', description: 'Somebody who is asked into the account' },
)
export type Invitation = Static<typeof Invitation>

export const InvitationCreate = Type.Object(
  { email: EmailAddress, role: RoleName, language: Type.Optional(Language) },
  { title: 'InvitationCreate', description: 'Whom to ask into the account, and as what' },
)

export const OpenInvitation = Type.Object(
  {
    account_name: Type.String({ description: 'Name of the account', examples: ['Ann'] }),
    email: Email,
    role: RoleName,
    expires_at: timestamp('When the link stops working', '2026-11-27T12:00:00.000Z'),
    has_person: Type.Boolean({
      description: 'Whether somebody has signed up with the address, and must sign in to accept',
      examples: [false],
    }),
  },
  { title: 'OpenInvitation', description: 'What a link of an invitation is for' },
)

export const InvitationAcceptance = Type.Object(
  {
    token: LinkToken,
    name: Type.Optional(visibleName(64, 'Ann')),
    password: Type.Optional(NewPassword),
  },
  {
    title: 'InvitationAcceptance',
    description: 'Name and password are required of who has not signed up yet, and ignored of others',
  },
)

export const Session = Type.Object(
  {
    session_id: SessionId,
    is_current: Type.Boolean({ description: 'Whether this request uses it', examples: [true] }),
    address: Type.String({ description: 'IP address that it was last used from', examples: ['192.0.2.7'] }),
    user_agent: Type.String({ description: 'What the browser calls itself', examples: ['Mozilla/5.0'] }),
    created_at: CreatedAt,
    last_used_at: timestamp('When it was last used, to the minute'),
    expires_at: timestamp('When it ends; earlier if it is not used for 14 days', '2027-02-18T12:00:00.000Z'),
  },
  { title: 'Session', description: 'A browser that the person is signed in with' },
)
export type Session = Static<typeof Session>
