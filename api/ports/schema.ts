import Type, { type Static } from 'typebox'
import { CreatedAt, uuid } from '../http/contract/fields.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const portProblems = defineProblems({
  port_not_found: { status: 404, title: 'No such published port' },
  port_taken: { status: 409, title: 'The host port is taken' },
  port_is_system: { status: 409, title: 'The port is managed by the service' },
})

const ServerId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', 'The server that it leads to')
const Protocol = Type.Enum(['tcp', 'udp'], { description: 'Transport protocol', examples: ['tcp'] })
const GuestPort = Type.Integer({
  minimum: 1,
  maximum: 65_535,
  description: 'Port of the server',
  examples: [80],
})

const place = { protocol: Protocol, port: GuestPort }

/** Ports that an order publishes from the start. */
export const PublishedPorts = Type.Array(
  Type.Object(place, { description: 'A port of the server', examples: [{ protocol: 'tcp', port: 80 }] }),
  {
    maxItems: 20,
    uniqueItems: true,
    description:
      'Ports to publish besides the one for SSH, each under a free host port; more can be published later. Default: none',
  },
)

export const PublishedPort = Type.Object(
  {
    port_id: uuid('01a1fb45-1ad0-7a51-9c3e-8b1f0c6d2e4a', 'Id of the published port'),
    server_id: ServerId,
    ...place,
    host: Type.String({
      description: 'Host name or address that clients connect to',
      examples: ['127.0.0.1'],
    }),
    host_port: Type.Integer({ description: 'Port that clients connect to', examples: [22_480] }),
    is_system: Type.Boolean({
      description: 'Whether the service manages the port, such as the one for SSH, which cannot be deleted',
      examples: [false],
    }),
    status: Type.Enum(['active', 'pending', 'closing'], {
      description:
        '`active`: it leads to the server while the server is on. If the zone cannot change the ports of a running server, a published port is `pending` until the server is stopped and started again. Until then a deleted port is `closing`, and still leads to the server',
      examples: ['active'],
    }),
    created_at: CreatedAt,
  },
  { title: 'PublishedPort', description: 'A port of the host that leads to a port of a server' },
)
export type PublishedPort = Static<typeof PublishedPort>

export const PortPublish = Type.Object(
  {
    ...place,
    host_port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: 'Port that clients connect to, from the range of the installation; default: a free one',
        examples: [22_480],
      }),
    ),
  },
  {
    title: 'PortPublish',
    description: 'A port of the server to publish',
    examples: [{ protocol: 'tcp', port: 80 }],
  },
)
export type PortPublish = Static<typeof PortPublish>
