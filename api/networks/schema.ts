import Type, { type Static } from 'typebox'
import { ZoneSlug } from '../catalog/schema.ts'
import {
  CreatedAt,
  LabelSelector,
  Labels,
  NewLabels,
  UpdatedAt,
  uuid,
  visibleName,
} from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const networkProblems = defineProblems({
  network_not_found: { status: 404, title: 'No such network' },
  network_in_use: { status: 409, title: 'The network has servers' },
  network_attached: { status: 409, title: 'The server is already in the network' },
  network_address_unavailable: { status: 409, title: 'The address in the network is not available' },
})

const EXAMPLE = '01a1fb45-1ad3-7c0e-9b1a-5d0f3c2b7e61'
export const NetworkId = uuid(EXAMPLE, 'Id of the private network', 'GET /networks')
const SERVER = '01a1fb45-1ac2-75b7-a056-9ee82769d403'
const ServerId = uuid(SERVER, 'Id of the server')
const Name = visibleName(100, 'backend')
export const PrivateIpv4 = Type.String({
  format: 'ipv4',
  description: 'Address of the server in the network',
  examples: ['10.1.0.2'],
})

export const Network = Type.Object(
  {
    network_id: NetworkId,
    name: Name,
    zone_slug: ZoneSlug,
    ip_range: Type.String({
      description: 'Range of its addresses; the first two and the last are reserved',
      examples: ['10.1.0.0/24'],
    }),
    servers: Type.Array(Type.Object({ server_id: ServerId, ipv4: PrivateIpv4 }), {
      description: 'The servers in it, with their addresses',
    }),
    labels: Labels,
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Network', description: 'A private network, in which servers of one zone reach each other' },
)
export type Network = Static<typeof Network>

export const NetworkCreate = Type.Object(
  {
    name: Name,
    zone_slug: ZoneSlug,
    ip_range: Type.String({
      maxLength: 18,
      description:
        'Private range of IPv4 addresses, /16 to /29; cannot be changed later. Networks of other accounts may use the same range. It must not overlap 10.64.0.0/12',
      examples: ['10.1.0.0/24'],
    }),
    labels: Type.Optional(NewLabels),
  },
  {
    title: 'NetworkCreate',
    description: 'A private network to create',
    examples: [{ name: 'backend', zone_slug: 'local-1', ip_range: '10.1.0.0/24' }],
  },
)
export type NetworkCreate = Static<typeof NetworkCreate>

export const NetworkUpdate = Type.Object(
  { name: Type.Optional(Name), labels: Type.Optional(NewLabels) },
  {
    title: 'NetworkUpdate',
    description: 'Fields to change',
    minProperties: 1,
    examples: [{ name: 'database' }],
  },
)

export type NetworkUpdate = Static<typeof NetworkUpdate>

export const NetworkAttach = Type.Object(
  {
    server_id: uuid(SERVER, 'Server of the same zone to attach', 'GET /servers'),
    ipv4: Type.Optional(
      Type.String({
        format: 'ipv4',
        description: 'Address for the server, within the range of the network; default: the first free one',
        examples: ['10.1.0.2'],
      }),
    ),
  },
  {
    title: 'NetworkAttach',
    description: 'A server to attach to a network',
    examples: [{ server_id: SERVER }],
  },
)
export type NetworkAttach = Static<typeof NetworkAttach>

export const NetworkQuery = Type.Object({
  ...pagingQuery,
  server_id: Type.Optional(uuid(SERVER, 'Only the networks of this server', 'GET /servers')),
  label: Type.Optional(LabelSelector),
})
