import Type, { type Static } from 'typebox'
import { uuid } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { Server, StopRequest } from '../servers/schema.ts'
import { statuses } from '../servers/states.ts'
import { AccountId, Reason } from './schema.ts'

export const OperatedServer = Type.Object(
  { account_id: AccountId, ...Server.properties },
  { title: 'OperatedServer', description: 'A server of any account, without its secrets' },
)
export type OperatedServer = Static<typeof OperatedServer>

export const OperatedServerQuery = Type.Object({
  ...pagingQuery,
  account_id: Type.Optional(uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Only those of this account')),
  search: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Part of the name, in upper or lower case, or the whole id',
      examples: ['web'],
    }),
  ),
  status: Type.Optional(Type.Enum([...statuses], { description: 'Only those with this status' })),
  zone_slug: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only those in this zone', examples: ['local-1'] }),
  ),
  address: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Only the one with this public address, as `ipv4` or `ipv6` shows it',
      examples: ['203.0.113.7'],
    }),
  ),
})
export type OperatedServerQuery = Static<typeof OperatedServerQuery>

export const ServerReason = Type.Object(
  { reason: Reason },
  { title: 'ServerReason', description: 'Why an operator changes a server; the audit of its account has it' },
)

export const ServerMove = Type.Object(
  {
    account_id: uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c12', 'Account that gets the server, and pays for it'),
    project_id: Type.Optional(
      uuid(
        '01a1fb44-5997-70b6-9a3e-6f2d8c1b4a22',
        'Project of that account that it gets into (default: the default project)',
      ),
    ),
    reason: Reason,
  },
  { title: 'ServerMove', description: 'The account that gets a server, and why; the audits of both have it' },
)

export const ServerStop = Type.Object(
  { reason: Reason, ...StopRequest.properties },
  { title: 'ServerStop', description: 'Why an operator stops a server, and how' },
)

export const ServerTermination = Type.Object(
  {
    reason: Reason,
    force: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether to delete it in spite of `delete_protection`',
        examples: [false],
      }),
    ),
  },
  { title: 'ServerTermination', description: 'Why an operator deletes a server' },
)
