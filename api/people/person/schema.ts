import Type, { type Static } from 'typebox'
import { CreatedAt, DECEPTIVE, timestamp, uuid } from '../../http/contract/fields.ts'
import { defineProblems } from '../../http/contract/problem.ts'

export const peopleProblems = defineProblems({
  sign_in_failed: { status: 401, title: 'The e-mail address or the password is wrong' },
  sign_up_closed: { status: 403, title: 'Sign-up is not open here' },
  link_invalid: { status: 403, title: 'The link is no longer valid' },
  ticket_invalid: { status: 403, title: 'The sign-in has expired or is complete' },
  passkey_refused: { status: 403, title: 'The passkey was not accepted' },
  provider_refused: { status: 403, title: 'The provider did not confirm the identity' },
  email_unverified: { status: 403, title: 'The provider has not verified the e-mail address' },
  wrong_code: { status: 403, title: 'The code is wrong' },
  sign_in_again: { status: 403, title: 'A recent sign-in is required' },
  wrong_password: { status: 403, title: 'The password is wrong' },
  role_not_allowed: { status: 403, title: 'The role exceeds your own' },
  session_not_found: { status: 404, title: 'No such session' },
  passkey_not_found: { status: 404, title: 'No such passkey' },
  member_not_found: { status: 404, title: 'No such member' },
  invitation_not_found: { status: 404, title: 'No such invitation' },
  identity_not_found: { status: 404, title: 'The person is not connected to a provider' },
  no_provider: { status: 409, title: 'Sign-in with a provider is not set up' },
  identity_for_another: { status: 409, title: 'The identity belongs to another person' },
  passkeys_unavailable: { status: 409, title: 'Passkeys need a host name and TLS' },
  passkey_limit_reached: { status: 409, title: 'The person has reached the limit of passkeys' },
  two_factor_on: { status: 409, title: 'Two-factor authentication is already on' },
  two_factor_off: { status: 409, title: 'Two-factor authentication is off' },
  account_in_use: { status: 409, title: 'The account has servers or owes money' },
  last_owner: { status: 409, title: 'The account would have no owner' },
  terms_not_accepted: { status: 409, title: 'The terms are not accepted' },
  already_member: { status: 409, title: 'The person is already in the account' },
  invitation_for_another: { status: 409, title: 'The invitation is for another person' },
})

export const languages = ['en', 'ru'] as const
export const Language = Type.Enum([...languages], {
  description: 'Language of mails: English or Russian',
  examples: ['en'],
})

/** Mails that are neither about security nor about money. */
export const mutableMails = ['announcements', 'servers', 'backups', 'limits'] as const
export type MutableMail = (typeof mutableMails)[number]
export const MutedMails = Type.Array(Type.Enum([...mutableMails], { examples: ['announcements'] }), {
  uniqueItems: true,
  description:
    'Kinds of mails that the person does not want: the operator’s announcements, servers that are down, failed backups, limits that are nearly reached. Those about security, complaints and money always come',
  examples: [[]],
})

const NOT_IN_EMAIL = String.raw`\s@${DECEPTIVE}\u200c\u200d<>"(),:;\[\]\\`
/** The host part excludes characters with which mail programs would show a link with a path. */
export const EMAIL = `^[^${NOT_IN_EMAIL}]+@[^${NOT_IN_EMAIL}/?#%&=+*!$^{|}~]+$`
export const EmailAddress = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: EMAIL,
  description: 'E-mail address; capital letters make no difference',
  examples: ['ann@example.com'],
  errorMessage: 'must be an e-mail address such as ann@example.com.',
})

export const Email = Type.String({
  description: 'E-mail address, in lower case',
  examples: ['ann@example.com'],
})

export const LinkToken = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'Token: the part of the link after #',
  examples: ['mYh3yX1W9nJ0bq2C5vT7uR4sK8pL6dF1aG3hZ0xQeEo'],
})

export const AccountId = uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Id of an account')
export const SessionId = uuid('01a1fb44-5b10-7a2b-8c3d-1e2f3a4b5c6d', 'Id of a session')

export const LinkUse = Type.Object(
  { token: LinkToken },
  { title: 'LinkUse', description: 'A link that was opened' },
)

export const AccountChoice = Type.Object(
  { account_id: AccountId },
  { title: 'AccountChoice', description: 'The account to switch to' },
)

export const Session = Type.Object(
  {
    session_id: SessionId,
    is_current: Type.Boolean({ description: 'Whether this request uses it', examples: [true] }),
    address: Type.String({ description: 'IP address that it was last used from', examples: ['192.0.2.7'] }),
    user_agent: Type.String({ description: 'Name that the browser gives itself', examples: ['Mozilla/5.0'] }),
    created_at: CreatedAt,
    last_used_at: timestamp('When it was last used, to the minute'),
    expires_at: timestamp('When it ends; earlier if it is not used for 14 days', '2027-02-18T12:00:00.000Z'),
  },
  { title: 'Session', description: 'A browser that the person is signed in with' },
)
export type Session = Static<typeof Session>
