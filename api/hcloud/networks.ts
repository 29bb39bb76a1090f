import { type Static, Type } from 'typebox'
import type { Network } from '../networks/schema.ts'
import { actionsOn, begun, done } from './actions.ts'
import { elsewhere, unsupported } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import type { Listed } from './lists.ts'
import { offersOf } from './offers.ts'
import { changing, Labels, protection, type Resource, reading, refusing, requireFree } from './resources.ts'

/** The address after the first of a range, which these clients show as the gateway. */
function gatewayOf(range: string): string {
  const [address = ''] = range.split('/')
  return address.replace(/\d+$/, (last) => String(Number(last) + 1))
}

/** Shows a network with one subnet, which spans the whole network. */
function networkView(x: Exchange, network: Network, strangers: ReadonlySet<string>): Listed {
  const { network_id, name, ip_range, zone_slug, labels, created_at } = network
  const shown = {
    ...{ id: x.ref('network', network_id), name, ip_range },
    subnets: [
      { type: 'cloud', ip_range, network_zone: zone_slug, gateway: gatewayOf(ip_range), vswitch_id: null },
    ],
    ...{ routes: [], load_balancers: [], expose_routes_to_vswitch: false },
    servers: serversOf(network)
      .filter((id) => !strangers.has(id))
      .map((id) => x.ref('server', id)),
    ...{ protection: { delete: false }, labels, created: created_at },
  }
  return shown
}

const serversOf = ({ servers }: Network) => servers.map(({ server_id }) => server_id)

async function views(x: Exchange, all: readonly Network[]): Promise<Listed[]> {
  const strangers = await x.strangers(all.flatMap(serversOf))
  return all.map((network) => networkView(x, network, strangers))
}

const networks: Resource = {
  ...{ kind: 'network', one: 'network', many: 'networks' },
  all: async (x) => views(x, await x.all<Network>('listNetworks')),
  find: async (x, network_id) => {
    const network = await x.v1<Network>('getNetwork', { params: { network_id } })
    return networkView(x, network, await x.strangers(serversOf(network)))
  },
  guard: async (x, network_id) => {
    const network = await x.v1<Network>('getNetwork', { params: { network_id } })
    if ((await x.strangers(serversOf(network))).size > 0) throw elsewhere('network')
  },
}

const Subnet = Type.Object({
  type: Type.Optional(Type.String()),
  ip_range: Type.Optional(Type.String()),
  network_zone: Type.Optional(Type.String()),
  vswitch_id: Type.Optional(Type.Literal(0)),
  gateway: Type.Optional(Type.String()),
})

/** @throws ApiError unsupported_error for a subnet that does not span the whole network */
function refuseParts(range: string, subnets: readonly Static<typeof Subnet>[]): void {
  if (subnets.length > 1 || subnets.some(({ ip_range = range }) => ip_range !== range))
    throw unsupported(`A network has one subnet, which is all of it: ${range}.`)
}

/** Declares a change of a network's subnets, which does nothing if it concerns the whole network. */
function subnetAction(name: 'add_subnet' | 'delete_subnet'): HcloudRoute {
  return answer({
    method: 'POST',
    path: `/networks/:id/actions/${name}`,
    body: Subnet,
    run: async (x, subnet) => {
      const network_id = await x.idOf('network', x.param('id'))
      const { ip_range } = await x.v1<Network>('getNetwork', { params: { network_id } })
      refuseParts(ip_range, [subnet])
      return done(x, name, ['network', network_id])
    },
  })
}

/** Reads the network that an action of a server names. */
const Attachment = Type.Object({
  network: Type.Integer(),
  ip: Type.Optional(Type.String()),
  /** The subnet, which spans the whole network. */
  ip_range: Type.Optional(Type.String()),
  alias_ips: Type.Optional(Type.Array(Type.String(), { maxItems: 0 })),
})

const attachments: HcloudRoute[] = [
  answer({
    method: 'POST',
    path: '/servers/:id/actions/attach_to_network',
    body: Attachment,
    run: async (x, { network, ip, ip_range }) => {
      const { server_id } = await x.server()
      const params = { network_id: await x.idOf('network', network) }
      if (ip_range) refuseParts((await x.v1<Network>('getNetwork', { params })).ip_range, [{ ip_range }])
      return begun(x, 'attachNetwork', { params, body: { server_id, ...(ip ? { ipv4: ip } : {}) } })
    },
  }),
  answer({
    method: 'POST',
    path: '/servers/:id/actions/detach_from_network',
    body: Type.Object({ network: Type.Integer() }),
    run: async (x, { network }) => {
      const { server_id } = await x.server()
      return begun(x, 'detachNetwork', {
        params: { network_id: await x.idOf('network', network), server_id },
      })
    },
  }),
]

export const networkRoutes: HcloudRoute[] = [
  ...reading(networks),
  answer({
    method: 'POST',
    path: '/networks',
    body: Type.Object({
      name: Type.String(),
      ip_range: Type.String(),
      subnets: Type.Optional(Type.Array(Subnet, { maxItems: 50 })),
      routes: Type.Optional(Type.Array(Type.Object({}), { maxItems: 0 })),
      expose_routes_to_vswitch: Type.Optional(Type.Literal(false)),
      labels: Labels,
    }),
    run: async (x, { name, ip_range, subnets = [], labels = {} }) => {
      refuseParts(ip_range, subnets)
      await requireFree(x, networks, name)
      const { zone_slug } = await (await offersOf(x)).zone({ location: subnets[0]?.network_zone })
      const network = await x.v1<Network>('createNetwork', { body: { name, ip_range, zone_slug, labels } })
      return { network: networkView(x, network, new Set()) }
    },
  }),
  ...changing(networks, { param: 'network_id', update: 'updateNetwork', remove: 'deleteNetwork' }),
  ...(['add_subnet', 'delete_subnet'] as const).map(subnetAction),
  ...protection(networks),
  ...refusing('networks', {
    add_route: 'Networks have no routes of their own. Set routes in the guests.',
    delete_route: 'Networks have no routes of their own.',
    change_ip_range: 'The range of a network stays as it is. Create another network.',
  }),
  ...attachments,
  ...actionsOn(networks),
]
