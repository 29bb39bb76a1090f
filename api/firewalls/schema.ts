import Type, { type Static } from 'typebox'
import {
  CreatedAt,
  LabelSelector,
  Labels,
  NewLabels,
  nullable,
  UpdatedAt,
  uuid,
  visibleName,
} from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const firewallProblems = defineProblems({
  firewall_not_found: { status: 404, title: 'No such firewall' },
  firewall_in_use: { status: 409, title: 'The firewall still has servers' },
  firewall_limit_reached: { status: 409, title: 'Too many servers of a firewall, or firewalls of a server' },
})

/** The most bytes of a firewall's rules as JSON, since they are stored, shown and sent in events. */
export const MOST_BYTES = 16_000
export const MOST_SERVERS = 100
export const MOST_FIREWALLS = 5

export const ANYWHERE = ['0.0.0.0/0', '::/0']

const FIREWALL = '01a1fb45-1ae4-7c0d-8f6a-2d1b7c9e4f30'
const SERVER = '01a1fb45-1ac2-75b7-a056-9ee82769d403'
const FirewallId = uuid(FIREWALL, 'Id of the firewall')
const ServerIds = (description: string, options: object = {}) =>
  Type.Array(uuid(SERVER, undefined, 'GET /servers'), { description, ...options })

const Direction = Type.Enum(['in', 'out'], {
  description: '`in`: connections to the server; `out`: connections from the server',
  examples: ['in'],
})
const Protocol = Type.Enum(['tcp', 'udp', 'icmp', 'any'], {
  description: 'Protocol; `icmp` is ICMPv6 too, `any` is everything',
  examples: ['tcp'],
})
const PORTS =
  'A port such as "22", or a range such as "8000-9000": of the server for `in`, of the other end for `out`. Null: all; the only value for `icmp` and `any`'
const Ports = nullable(
  Type.String({
    pattern: '^[0-9]{1,5}(-[0-9]{1,5})?$',
    errorMessage: 'must be a port such as "22" or a range such as "8000-9000".',
  }),
  { description: PORTS, examples: ['22'] },
)
const cidr = Type.String({ maxLength: 49, examples: ['203.0.113.0/24'] })
const CIDRS = 'Addresses and ranges of the remote end, IPv4 and IPv6'
const Description = nullable(Type.String({ maxLength: 100 }), {
  description: 'Text of your choice, up to 100 characters; null for none',
  examples: ['Office'],
})

export const FirewallRule = Type.Object(
  {
    direction: Direction,
    protocol: Protocol,
    ports: Ports,
    cidrs: Type.Array(cidr, { description: CIDRS }),
    description: Description,
  },
  { title: 'FirewallRule', description: 'Connections that a firewall allows' },
)
export type FirewallRule = Static<typeof FirewallRule>

const NewRule = Type.Object(
  {
    direction: Direction,
    protocol: Protocol,
    ports: Type.Optional(Ports),
    cidrs: Type.Optional(
      Type.Array(cidr, {
        minItems: 1,
        maxItems: 100,
        description: `${CIDRS}, up to 100. Default: 0.0.0.0/0 and ::/0, all`,
      }),
    ),
    description: Type.Optional(Description),
  },
  { title: 'FirewallRuleCreate', description: 'Connections to allow' },
)
export type NewRule = Static<typeof NewRule>

const rulesExample = [
  { direction: 'in', protocol: 'tcp', ports: '22', cidrs: ['203.0.113.0/24'], description: 'Office' },
] as const
const Rules = Type.Array(NewRule, {
  maxItems: 100,
  description: `Up to 100 rules, of up to ${MOST_BYTES} bytes in all; their order does not matter`,
  examples: [rulesExample],
})
const Name = visibleName(100, 'web')
const Selector = (description: string) => nullable(LabelSelector, { description, examples: ['env=prod'] })

export const Firewall = Type.Object(
  {
    firewall_id: FirewallId,
    name: Name,
    rules: Type.Array(FirewallRule, { description: 'Rules of the firewall' }),
    server_ids: ServerIds('Servers that it is attached to by id; `label_selector` may match more'),
    label_selector: Selector(
      'Servers with matching labels have the firewall, too; null: only those in `server_ids`',
    ),
    labels: Labels,
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Firewall', description: 'Rules for the connections of its servers' },
)
export type Firewall = Static<typeof Firewall>

export const FirewallCreate = Type.Object(
  {
    name: Name,
    rules: Type.Optional(Rules),
    label_selector: Type.Optional(
      Selector('Attaches it to all servers with matching labels, including future ones; default: none'),
    ),
    labels: Type.Optional(NewLabels),
  },
  {
    title: 'FirewallCreate',
    description: 'A firewall to create',
    examples: [{ name: 'web', rules: rulesExample, label_selector: 'env=prod' }],
  },
)
export type FirewallCreate = Static<typeof FirewallCreate>

export const FirewallUpdate = Type.Object(
  {
    name: Type.Optional(Name),
    rules: Type.Optional(Rules),
    label_selector: Type.Optional(Selector('Attaches it to all servers with matching labels; null: to none')),
    labels: Type.Optional(NewLabels),
  },
  {
    title: 'FirewallUpdate',
    description: 'Fields to change; the others stay as they are. `rules` replaces all rules at once',
    minProperties: 1,
    examples: [{ rules: rulesExample }],
  },
)
export type FirewallUpdate = Static<typeof FirewallUpdate>

export const FirewallAttach = Type.Object(
  {
    server_ids: ServerIds('Servers to attach it to, besides those that already have it', {
      minItems: 1,
      maxItems: MOST_SERVERS,
      uniqueItems: true,
    }),
  },
  {
    title: 'FirewallAttach',
    description: 'Servers to attach a firewall to',
    examples: [{ server_ids: [SERVER] }],
  },
)

export const FirewallQuery = Type.Object({
  ...pagingQuery,
  server_id: Type.Optional(
    uuid(SERVER, 'Only the firewalls of this server, by its id or its labels', 'GET /servers'),
  ),
  label: Type.Optional(LabelSelector),
})

/** The firewalls that an order attaches. */
export const FirewallIds = Type.Array(uuid(FIREWALL, undefined, 'GET /firewalls'), {
  maxItems: MOST_FIREWALLS,
  uniqueItems: true,
  description: `Firewalls to attach to it, up to ${MOST_FIREWALLS} with those that its labels bring. Default: none, and all connections are allowed`,
})
