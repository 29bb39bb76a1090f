import Type, { type Static } from 'typebox'
import { ZoneSlug } from '../catalog/schema.ts'
import {
  CreatedAt,
  LabelSelector,
  Labels,
  MonthPrice,
  NewLabels,
  nullable,
  UpdatedAt,
  uuid,
} from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const addressProblems = defineProblems({
  address_not_found: { status: 404, title: 'No such address' },
  address_in_use: { status: 409, title: 'The address is in use' },
  address_unavailable: {
    status: 409,
    title: 'The zone has no free address',
    members: {
      alternatives: Type.Array(ZoneSlug, {
        description: 'Zones that have a free address now',
        examples: [[]],
      }),
    },
  },
})

const ServerId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', 'The server that has the address')
const Family = Type.Enum(['ipv4', 'ipv6'], {
  description: '`ipv4`: a single address; `ipv6`: a /64, in which the server has the address ::2',
  examples: ['ipv4'],
})
const ReverseDns = Type.String({
  maxLength: 253,
  // RFC 1123, section 2.1: no label begins or ends with a hyphen.
  pattern: String.raw`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$`,
  examples: ['mail.example.com'],
  errorMessage: 'must be a whole name such as mail.example.com.',
})

export const Address = Type.Object(
  {
    address_id: uuid('01a1fb45-1ae1-7c04-8f2d-3a9b5e6c7d80', 'Id of the address'),
    address: Type.String({
      description: 'The address; of `ipv6` the whole /64',
      examples: ['203.0.113.7'],
    }),
    family: Family,
    zone_slug: ZoneSlug,
    server_id: nullable(ServerId, { description: 'The server that has the address; null if none has' }),
    reverse_dns: nullable(ReverseDns, {
      description:
        'Reverse DNS name, in effect seconds or minutes later, as the operator publishes it; null for none',
    }),
    labels: Labels,
    price_month_rub: MonthPrice,
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Address', description: 'A public address, which can be moved between servers of its zone' },
)
export type Address = Static<typeof Address>

export const AddressCreate = Type.Object(
  {
    zone_slug: ZoneSlug,
    family: Family,
    server_id: Type.Optional(
      uuid(
        '01a1fb45-1ac2-75b7-a056-9ee82769d403',
        'The server to assign the address to; default: none',
        'GET /servers',
      ),
    ),
    labels: Type.Optional(NewLabels),
  },
  {
    title: 'AddressCreate',
    description: 'An address to reserve',
    examples: [{ zone_slug: 'local-1', family: 'ipv4' }],
  },
)
export type AddressCreate = Static<typeof AddressCreate>

export const AddressUpdate = Type.Object(
  {
    server_id: Type.Optional(
      nullable(ServerId, { description: 'The server to assign the address to; null unassigns it' }),
    ),
    reverse_dns: Type.Optional(
      nullable(ReverseDns, { description: 'Reverse DNS name, up to 253 characters; null for none' }),
    ),
    labels: Type.Optional(NewLabels),
  },
  {
    title: 'AddressUpdate',
    description: 'Fields to change; the others stay as they are',
    minProperties: 1,
    examples: [{ server_id: '01a1fb45-1ac2-75b7-a056-9ee82769d403' }],
  },
)
export type AddressUpdate = Static<typeof AddressUpdate>

export const AddressQuery = Type.Object({
  ...pagingQuery,
  server_id: Type.Optional(
    uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', 'Only the addresses of this server', 'GET /servers'),
  ),
  label: Type.Optional(LabelSelector),
})

export const AddressDeletion = Type.Object({
  force: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether to delete the address even if a server has it' }),
  ),
})
