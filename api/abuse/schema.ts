import Type, { type Static } from 'typebox'
import { nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { kindNames, kinds, type SignKind } from './kinds.ts'

const ACCOUNT = '01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11'
const SERVER = '01a1fb44-5a10-7c1d-8e4b-0d0e1a2b3c4d'
const KINDS =
  '`outgoing_flood`: packets that are hardly answered. `many_connections`: connections that it tried to open, as in scans. `mail_tries`: refused tries to reach port 25. `cpu_at_limit`: CPU at 90 % or more for 3 days. `accounts_of_network`: 5 or more accounts created within 7 days from one address, or one /64 of IPv6. `accounts_of_card`: 3 or more accounts paid by one card within 90 days'

const AbuseAccount = Type.Object({
  account_id: uuid(ACCOUNT, 'Id of the account'),
  email: Type.String({ description: 'Contact address of the account', examples: ['ann@example.com'] }),
  status: Type.Enum(['active', 'suspended', 'closed'], { description: 'Status of the account' }),
  is_frozen: Type.Boolean({ description: 'Whether it is frozen already', examples: [false] }),
})

export const AbuseSign = Type.Object(
  {
    sign_id: uuid('01a1fb44-5a10-7c1d-8e4b-77aa88bb99cc', 'Id of the sign'),
    kind: Type.Enum(kindNames, { description: `${KINDS}. More may be added`, examples: ['mail_tries'] }),
    accounts: Type.Array(AbuseAccount, {
      description: 'The accounts that it is about: at most the newest 20',
    }),
    server_id: nullable(uuid(SERVER, 'Id of the server'), {
      description: 'The server that it is about; null if it is about accounts',
    }),
    server_name: nullable(Type.String({ examples: ['web-1'] }), {
      description: 'Name of that server; null if there is none, or it was deleted long ago',
    }),
    network: nullable(Type.String({ examples: [null] }), {
      description: 'The IPv4 address or IPv6 /64 that it is about; null if it is about none',
    }),
    since: timestamp('When it began'),
    last_seen_at: timestamp('When it was last seen; it is kept for 30 days after that'),
    figure: Type.Integer({ description: 'The last figure, as a mean of ten minutes', examples: [1260] }),
    peak: Type.Integer({ description: 'The highest figure since it began', examples: [4100] }),
    unit: Type.Enum([...new Set(Object.values(kinds).map(({ unit }) => unit))], {
      description: 'The unit of both figures',
      examples: ['tries_per_hour'],
    }),
    remedy: Type.String({
      description: 'The action to take, with the exact command',
      examples: [
        `All of them were refused; ask the customer what sends mail, and until they answer: berthd server suspend ${SERVER} --reason "tries to send mail".`,
      ],
    }),
  },
  { title: 'AbuseSign', description: 'A sign that servers or accounts may harm others' },
)
export type AbuseSign = Static<typeof AbuseSign>

export const AbuseQuery = Type.Object({
  ...pagingQuery,
  kind: Type.Optional(
    Type.Enum<SignKind[]>(kindNames, { description: 'Only signs of this kind', examples: ['mail_tries'] }),
  ),
  account_id: Type.Optional(uuid(ACCOUNT, 'Only signs about this account')),
})
