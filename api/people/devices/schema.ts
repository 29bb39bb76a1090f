import Type, { type Static } from 'typebox'
import { Scopes } from '../../accounts/schema.ts'
import { CreatedAt, nullable, timestamp, uuid, visibleName } from '../../http/contract/fields.ts'
import { defineProblems } from '../../http/contract/problem.ts'

/** The first four have the codes and the status of RFC 8628. */
export const deviceProblems = defineProblems({
  authorization_pending: { status: 400, title: 'The login is not approved yet' },
  slow_down: {
    status: 400,
    title: 'The program polls too often',
    members: {
      interval: Type.Integer({ description: 'Seconds to wait from here on', examples: [10] }),
    },
  },
  access_denied: { status: 400, title: 'The login was denied' },
  expired_token: { status: 400, title: 'The login has expired' },
  no_console: { status: 409, title: 'Logins require the console for their approval' },
  user_code_not_found: { status: 404, title: 'No such code' },
})

const DeviceCode = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'Secret with which the program gets its token',
  examples: ['mYh3yX1W9nJ0bq2C5vT7uR4sK8pL6dF1aG3hZ0xQeEo'],
})

const UserCode = Type.String({
  minLength: 1,
  maxLength: 40,
  description: 'The code that the program shows; capital letters, spaces and dashes make no difference',
  examples: ['WDJB-MJHT'],
})

const AskedScopes = nullable(Scopes, {
  description: 'Scopes that the program requests; null for all that the approver’s role allows',
  examples: [null],
})

export const DeviceLoginRequest = Type.Object(
  {
    client_name: visibleName(64, 'berth on laptop'),
    scopes: Type.Optional(AskedScopes),
  },
  {
    title: 'DeviceLoginRequest',
    description: 'Name of the program that requests access; it becomes the name of the token',
  },
)

export const DeviceLoginStart = Type.Object(
  {
    device_code: DeviceCode,
    user_code: Type.String({
      description: 'Code that the person types on the page: eight consonants',
      examples: ['WDJB-MJHT'],
    }),
    verification_uri: Type.String({
      description: 'The page on which a person approves it',
      examples: ['https://cloud.example/device'],
    }),
    verification_uri_complete: Type.String({
      description: 'The same page with the code typed in',
      examples: ['https://cloud.example/device#WDJB-MJHT'],
    }),
    expires_in: Type.Integer({ description: 'Seconds until the codes expire', examples: [600] }),
    interval: Type.Integer({
      description: 'Seconds to wait between two requests for the token',
      examples: [5],
    }),
  },
  { title: 'DeviceLoginStart', description: 'Codes of the login: one for the person, one for the program' },
)

export const DeviceTokenRequest = Type.Object(
  { device_code: DeviceCode },
  { title: 'DeviceTokenRequest', description: 'The login to get the token of' },
)

export const DeviceCodeEntry = Type.Object(
  { user_code: UserCode },
  { title: 'DeviceCodeEntry', description: 'The code that the program shows' },
)

export const DeviceApproval = Type.Object(
  {
    user_code: UserCode,
    account_id: uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'The account that the program gets a token of'),
  },
  { title: 'DeviceApproval', description: 'The approval of a program' },
)

export const DeviceLogin = Type.Object(
  {
    client_name: Type.String({
      description: 'Name that the program gives itself; it is not verified',
      examples: ['berth on laptop'],
    }),
    address: Type.String({ description: 'IP address of the program', examples: ['192.0.2.7'] }),
    is_from_here: Type.Boolean({
      description: 'Whether the program is in the network that this request comes from',
      examples: [true],
    }),
    scopes: AskedScopes,
    created_at: CreatedAt,
    expires_at: timestamp('When the code expires', '2026-11-20T12:10:00.000Z'),
  },
  { title: 'DeviceLogin', description: 'A program that requests access' },
)
export type DeviceLogin = Static<typeof DeviceLogin>
