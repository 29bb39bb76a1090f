import { Type } from 'typebox'
import type { Address } from '../addresses/schema.ts'
import { actionsOn, done } from './actions.ts'
import { missing, unsupported } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import type { Listed } from './lists.ts'
import { type Offers, offersOf } from './offers.ts'
import { changeable, changing, Labels, protection, type Resource, reading } from './resources.ts'

const Family = Type.Enum(['ipv4', 'ipv6'])
const Named = Type.Union([Type.String(), Type.Integer()])
const MaybeText = Type.Optional(Type.String())
const MaybeNumber = Type.Optional(Type.Integer())

/** Returns the fields common to floating and primary IPs. The address itself is the name. */
function common(x: Exchange, { address_id, address, family, reverse_dns, labels, created_at }: Address) {
  return {
    ...{ id: x.ref('address', address_id), name: address, ip: address, type: family, blocked: false },
    dns_ptr: reverse_dns === null ? [] : [{ ip: address, dns_ptr: reverse_dns }],
    ...{ protection: { delete: false }, labels, created: created_at },
  }
}

function floatingView(x: Exchange, offers: Offers, address: Address): Listed {
  const { server_id, zone_slug } = address
  const server = server_id === null ? null : x.ref('server', server_id)
  return Object.assign(common(x, address), {
    description: '',
    server,
    home_location: offers.location(zone_slug),
  })
}

function primaryView(x: Exchange, offers: Offers, address: Address): Listed {
  const { server_id, zone_slug } = address
  const holder = server_id === null ? null : x.ref('server', server_id)
  return Object.assign(common(x, address), {
    ...{ assignee_id: holder, assignee_type: 'server', auto_delete: false },
    location: offers.location(zone_slug),
    datacenter: offers.datacenter(zone_slug),
  })
}

/** @throws ApiError not_found if a server of another project has it */
async function addressOf(x: Exchange, address_id: string): Promise<Address> {
  const address = await x.v1<Address>('getAddress', { params: { address_id } })
  return x.requireOwn(address, 'address', x.param('id'))
}

/** Presents Berth's addresses as one of the two kinds that these clients know. */
function addressesAs(one: string, view: typeof floatingView): Resource {
  return {
    ...{ kind: 'address', one, many: `${one}s` },
    all: async (x) => {
      const offers = await offersOf(x)
      const ip = x.query.get('ip')
      const all = await x.own(await x.all<Address>('listAddresses'))
      return all
        .filter(({ address }) => ip === null || ip === address)
        .map((address) => view(x, offers, address))
    },
    find: async (x, id) => view(x, await offersOf(x), await addressOf(x, id)),
    guard: async (x, id) => void (await addressOf(x, id)),
  }
}

const floating = addressesAs('floating_ip', floatingView)
const primary = addressesAs('primary_ip', primaryView)

async function update(x: Exchange, command: string, body: object): Promise<object> {
  const address_id = await changeable(x, primary)
  await x.v1('updateAddress', { params: { address_id }, body })
  return done(x, command, ['address', address_id])
}

/** hcloud-go 1.35 mistakenly repeats the number of the path in bodies. */
const Sent = { ID: MaybeNumber }

/** The actions on an address. @param field the field that names the server to assign it to */
function addressActions(resource: Resource, field: 'server' | 'assignee_id'): HcloudRoute[] {
  const { one, many } = resource
  const path = `/${many}/:id/actions`
  return [
    answer({
      method: 'POST',
      path: `${path}/assign`,
      body: Type.Object({
        server: Type.Optional(Type.Integer()),
        assignee_id: Type.Optional(Type.Integer()),
        assignee_type: Type.Optional(Type.String()),
        ...Sent,
      }),
      run: async (x, body) => {
        const { server_id } = await x.server(body[field] ?? 0)
        return update(x, `assign_${one}`, { server_id })
      },
    }),
    answer({
      method: 'POST',
      path: `${path}/unassign`,
      run: (x) => update(x, `unassign_${one}`, { server_id: null }),
    }),
    answer({
      method: 'POST',
      path: `${path}/change_dns_ptr`,
      body: Type.Object({ ip: Type.String(), dns_ptr: Type.Optional(Type.String()), ...Sent }),
      run: (x, { dns_ptr }) => update(x, 'change_dns_ptr', { reverse_dns: dns_ptr || null }),
    }),
    ...protection(resource),
    ...actionsOn(resource),
  ]
}

/** Reserves an address, and assigns it if a server is named. @returns its id */
async function reserve(
  x: Exchange,
  wanted: {
    type: 'ipv4' | 'ipv6'
    server: number | undefined
    place: string | number | undefined
    labels: Record<string, string> | undefined
  },
): Promise<string> {
  const server = wanted.server ? await x.server(wanted.server) : null
  const { zone_slug } = await (await offersOf(x)).zone({ location: server?.zone_slug ?? wanted.place })
  const holder = server ? { server_id: server.server_id } : {}
  const { type: family, labels = {} } = wanted
  const body = { family, zone_slug, labels, ...holder }
  return (await x.v1<Address>('reserveAddress', { body })).address_id
}

const Changes = {
  ...{ param: 'address_id', update: 'updateAddress', isRenamed: false, remove: 'deleteAddress' },
} as const

export const addressRoutes: HcloudRoute[] = [
  ...reading(floating),
  ...reading(primary),
  answer({
    method: 'POST',
    path: '/floating_ips',
    body: Type.Object({
      type: Family,
      home_location: Type.Optional(Named),
      server: MaybeNumber,
      description: MaybeText,
      name: MaybeText,
      labels: Labels,
    }),
    run: async (x, { type, home_location: place, server, labels }) => {
      const id = await reserve(x, { type, server, place, labels })
      const action = server ? done(x, 'assign_floating_ip', ['address', id]).action : null
      return { floating_ip: await floating.find(x, id), action }
    },
  }),
  answer({
    method: 'POST',
    path: '/primary_ips',
    body: Type.Object({
      type: Family,
      name: MaybeText,
      location: Type.Optional(Named),
      datacenter: Type.Optional(Named),
      assignee_id: MaybeNumber,
      assignee_type: MaybeText,
      auto_delete: Type.Optional(Type.Boolean()),
      labels: Labels,
    }),
    run: async (x, { type, location, datacenter, assignee_id: server, auto_delete, labels }) => {
      if (auto_delete)
        throw unsupported('A reserved address stays when its server is deleted. Leave auto_delete out.')
      const id = await reserve(x, { type, server, place: location ?? datacenter, labels })
      const action = server ? done(x, 'assign_primary_ip', ['address', id]).action : null
      return { primary_ip: await primary.find(x, id), action }
    },
  }),
  ...changing(floating, Changes),
  ...changing(primary, Changes),
  ...addressActions(floating, 'server'),
  ...addressActions(primary, 'assignee_id'),
  answer({
    method: 'POST',
    path: '/servers/:id/actions/change_dns_ptr',
    body: Type.Object({ ip: Type.String(), dns_ptr: Type.Optional(Type.String()) }),
    run: async (x, { ip, dns_ptr }) => {
      const { server_id } = await x.server()
      const all = await x.all<Address>('listAddresses', { server_id })
      const own = all.find(
        ({ address, family }) => address === ip || family === (ip.includes(':') ? 'ipv6' : ''),
      )
      if (!own) throw missing('address', ip)
      const params = { address_id: own.address_id }
      await x.v1('updateAddress', { params, body: { reverse_dns: dns_ptr || null } })
      return done(x, 'change_dns_ptr', ['server', server_id])
    },
  }),
]
