import { type Static, Type } from 'typebox'
import type { Address } from '../addresses/schema.ts'
import type { ServerDetails } from '../servers/details-schema.ts'
import type { Server } from '../servers/schema.ts'
import type { Iso } from '../snapshots/iso-schema.ts'
import { actionOf, actionsOn, actionView, startView } from './actions.ts'
import { taken, unsupported } from './errors.ts'
import { answer, type Exchange, type HcloudRoute } from './exchange.ts'
import { copiesOf, sourceOf } from './images.ts'
import { isoView } from './isos.ts'
import type { Links } from './links.ts'
import { type Listed, listed, metaOf, pageOf, selectorOf, sortOf } from './lists.ts'
import { CATEGORY, type Offers, offersOf } from './offers.ts'
import { Labels } from './resources.ts'
import { keyIds } from './ssh-keys.ts'

/** The statuses of servers as these clients know them. */
const statuses: Readonly<Record<Server['status'], string>> = {
  creating: 'initializing',
  running: 'running',
  stopped: 'off',
  starting: 'starting',
  stopping: 'stopping',
  rebooting: 'running',
  resizing: 'migrating',
  rebuilding: 'rebuilding',
  resetting_password: 'running',
  restoring: 'rebuilding',
  rescuing: 'running',
  unrescuing: 'running',
  suspended: 'off',
  error: 'unknown',
  deleting: 'deleting',
}

/** The objects around servers, which their view names. */
interface Around {
  offers: Offers
  addresses: readonly Address[]
  links: Links
  isos: readonly Iso[]
  /** The copies behind the disks of these servers, by their ids. */
  sources: ReadonlyMap<string, Listed>
}

/** Reads the objects around some servers. @param serverId the only server, if there is one */
async function around(x: Exchange, servers: readonly Server[], serverId?: string): Promise<Around> {
  const query = serverId === undefined ? {} : { server_id: serverId }
  const hasAddresses = servers.some(({ ipv4, ipv6 }) => ipv4 !== null || ipv6 !== null)
  const hasIso = servers.some(({ iso_id }) => iso_id !== null)
  const hasSource = servers.some(({ source_id }) => source_id !== null)
  const [offers, addresses, links, isos, sources] = await Promise.all([
    offersOf(x),
    hasAddresses ? x.all<Address>('listAddresses', query) : [],
    x.links(),
    hasIso ? x.all<Iso>('listIsos') : [],
    hasSource ? copiesOf(x) : new Map(),
  ])
  return { offers, addresses, links, isos, sources }
}

function publicNet(x: Exchange, server: Server, { addresses, links }: Around) {
  const { server_id, ipv4, ipv6 } = server
  const addressOf = (wanted: Address['family']) =>
    addresses.find((own) => own.family === wanted && own.server_id === server_id)
  const [four, six] = [addressOf('ipv4'), addressOf('ipv6')]
  const refOf = (own: Address | undefined) => (own ? { id: x.ref('address', own.address_id) } : {})
  return {
    ipv4: ipv4 && { ...refOf(four), ip: ipv4, blocked: false, dns_ptr: four?.reverse_dns ?? '' },
    ipv6: ipv6 && { ...refOf(six), ip: six?.address ?? `${ipv6}/64`, blocked: false, dns_ptr: [] },
    floating_ips: [],
    firewalls: links.firewallsOf(server).map((id) => ({ id: x.ref('firewall', id), status: 'applied' })),
  }
}

/** Returns the number of a size without a preset, which needs no row and exceeds all numbers with rows. */
const sizeNumber = (cpu: number, ramMb: number, diskGb: number) =>
  2 ** 50 + (cpu * 2 ** 22 + ramMb) * 2 ** 20 + diskGb

/** Returns the type of a server; a custom size gets a type that is not on offer. */
function typeOf(offers: Offers, { preset_id, cpu, ram_mb, disk_gb }: Server) {
  const preset = offers.presets.find((one) => one.preset_id === preset_id)
  if (preset) return offers.serverType(preset)
  const custom = `custom-${cpu}-${ram_mb}-${disk_gb}`
  return {
    ...{ id: sizeNumber(cpu, ram_mb, disk_gb), name: custom, description: custom },
    ...{ cores: cpu, memory: ram_mb / 1024, disk: disk_gb, deprecated: true, deprecation: null },
    ...{ prices: [], locations: [], storage_type: 'local', category: CATEGORY, cpu_type: 'shared' },
    ...{ architecture: 'x86', included_traffic: 0 },
  }
}

/** Returns the image of a server; null if the image was deleted. */
function imageOf({ offers, sources }: Around, { template_id, source_id }: Server) {
  if (source_id !== null) return sources.get(source_id) ?? null
  const template = offers.catalogue.templates.find((one) => one.template_id === template_id)
  return template ? offers.template(template) : null
}

function backupWindow({ backups_enabled, backup_window: hour }: Server): string | null {
  if (!backups_enabled || hour === null) return null
  const two = (value: number) => String(value % 24).padStart(2, '0')
  return `${two(hour)}-${two(hour + 1)}`
}

/** Returns the fields that differ from server to server. */
function ownFields(x: Exchange, server: Server, near: Around) {
  const { server_id, name } = server
  const iso = near.isos.find((one) => one.iso_id === server.iso_id)
  return {
    id: x.ref('server', server_id),
    name,
    created: server.created_at,
    public_net: publicNet(x, server, near),
    private_net: server.networks.map(({ network_id, ipv4 }) => ({
      ...{ network: x.ref('network', network_id), ip: ipv4, alias_ips: [], mac_address: '' },
    })),
    locked: server.current_operation !== null,
    labels: server.labels,
    iso: iso ? isoView(x, iso) : null,
    volumes: near.links.volumesOf(server).map((id) => x.ref('volume', id)),
  }
}

/** Returns the fields that all servers of one kind share: type, place and image. */
function commonFields(near: Around, server: Server) {
  const { offers } = near
  const { delete_protection } = server
  return {
    status: statuses[server.status],
    rescue_enabled: server.rescue,
    backup_window: backupWindow(server),
    protection: { delete: delete_protection, rebuild: delete_protection },
    server_type: typeOf(offers, server),
    // Clients of 2026 read the location, older ones the datacenter.
    location: offers.location(server.zone_slug),
    datacenter: offers.datacenter(server.zone_slug),
    image: imageOf(near, server),
    primary_disk_size: server.disk_gb,
    ...{ outgoing_traffic: 0, ingoing_traffic: 0, included_traffic: 0 },
    ...{ load_balancers: [], placement_group: null },
  }
}

/** True if two servers have the same common fields. */
const areAlike = (one: Server, other: Server) =>
  one.preset_id === other.preset_id &&
  one.cpu === other.cpu &&
  one.ram_mb === other.ram_mb &&
  one.disk_gb === other.disk_gb &&
  one.zone_slug === other.zone_slug &&
  one.template_id === other.template_id &&
  one.source_id === other.source_id &&
  one.status === other.status &&
  one.rescue === other.rescue &&
  one.backups_enabled === other.backups_enabled &&
  one.backup_window === other.backup_window &&
  one.delete_protection === other.delete_protection

function serverView(x: Exchange, server: Server, near: Around) {
  return { ...ownFields(x, server, near), ...commonFields(near, server) }
}

/** Custom sizes can be as many as customers like. */
const MOST_KINDS = 100
/** A placeholder for the common fields of a server. It cannot occur in a text, where quotes are escaped. */
const COMMON = ',"common":0}'

/**
 * The JSON text of a page of servers. It is joined from parts, since the common fields make up most of it.
 * @param meta the page
 */
async function serversText(x: Exchange, servers: readonly Server[], meta: object): Promise<string> {
  const near = await around(x, servers)
  const own = servers.map((server) => ({ ...ownFields(x, server, near), common: 0 }))
  await x.settle()
  const texts = JSON.stringify({ servers: own, meta }).split(COMMON)
  let common = ''
  for (const [at, server] of servers.entries()) {
    const before = servers[at - 1]
    if (!before || !areAlike(before, server)) common = await commonText(x, near, server)
    texts[at] += common
  }
  return texts.join('')
}

/** The JSON text of a server's common fields, to follow its own. */
async function commonText(x: Exchange, near: Around, server: Server): Promise<string> {
  const { kinds } = near.offers.catalogue
  const kept = kinds.find((kind) => areAlike(kind.server, server))
  if (kept) return kept.text
  const shown = commonFields(near, server)
  await x.settle()
  const text = `,${JSON.stringify(shown).slice(1)}`
  // The text of a server from an account's own image is not cached for other accounts.
  if (server.source_id === null && kinds.push({ server, text }) > MOST_KINDS) kinds.shift()
  return text
}

export async function showServer(x: Exchange, server: Server) {
  return { server: serverView(x, server, await around(x, [server], server.server_id)) }
}

/** Lists the servers of the project, whose number no quota of these clients bounds, page by page. */
async function listServers(x: Exchange): Promise<object | string> {
  const project = { project_id: x.projectId }
  if (x.query.has('status')) {
    const all = await x.all<Server>('listServers', project)
    const near = await around(x, all)
    return listed(
      x,
      'servers',
      all.map((server): Listed => serverView(x, server, near)),
    )
  }
  const [page, { field, isDescending }] = [pageOf(x), sortOf(x)]
  const label = selectorOf(x)
  const name = x.query.get('name')
  const query = {
    ...project,
    // Numbers are given in the order of creation.
    sort: `${isDescending ? '-' : ''}${field === 'name' ? 'name' : 'created_at'}`,
    ...{ limit: page.perPage, offset: (page.page - 1) * page.perPage },
    ...(label === null ? {} : { label }),
    ...(name === null ? {} : { name }),
  }
  const { items, total } = await x.v1<{ items: Server[]; total: number }>('listServers', { query })
  return serversText(x, items, metaOf(page, total))
}

const Named = Type.Union([Type.String(), Type.Integer()])
const Numbers = Type.Optional(Type.Array(Type.Integer(), { maxItems: 50 }))
const MaybeNamed = Type.Optional(Named)

const Creation = Type.Object({
  name: Type.String(),
  server_type: Named,
  image: Named,
  location: MaybeNamed,
  datacenter: MaybeNamed,
  ssh_keys: Type.Optional(Type.Array(Named, { maxItems: 50 })),
  user_data: Type.Optional(Type.String()),
  labels: Labels,
  start_after_create: Type.Optional(Type.Boolean()),
  networks: Numbers,
  firewalls: Type.Optional(Type.Array(Type.Object({ firewall: Type.Integer() }), { maxItems: 50 })),
  volumes: Numbers,
  automount: Type.Optional(Type.Boolean()),
  placement_group: MaybeNamed,
  public_net: Type.Optional(
    Type.Object({
      enable_ipv4: Type.Optional(Type.Boolean()),
      enable_ipv6: Type.Optional(Type.Boolean()),
      ipv4: MaybeNamed,
      ipv6: MaybeNamed,
    }),
  ),
})

/** @throws ApiError unsupported_error */
function refuseExtras({
  volumes = [],
  placement_group,
  public_net,
  automount,
}: Static<typeof Creation>): void {
  if (volumes.length > 0 || automount)
    throw unsupported('Attach volumes once the server has been created, and mount them in the guest.')
  if (placement_group) throw unsupported('Placement groups are not offered here. Leave placement_group out.')
  if (public_net?.ipv4 || public_net?.ipv6)
    throw unsupported('Assign reserved addresses once the server has been created.')
}

/** The order of a server, as /v1 takes it. */
async function orderOf(x: Exchange, body: Static<typeof Creation>) {
  const { name, ssh_keys = [], user_data, labels = {}, start_after_create = true, public_net = {} } = body
  const offers = await offersOf(x)
  const zone = await offers.zone(body)
  const [type, image] = [await presetOf(x, body.server_type), await sourceOf(x, body.image)]
  const all = (kind: 'network' | 'firewall', numbers: readonly number[] = []) =>
    Promise.all(numbers.map((number) => x.idOf(kind, number)))
  return {
    ...{
      name,
      zone_slug: zone.zone_slug,
      cpu_type: zone.cpu_types[0],
      plan_type: 'preset',
      ...type,
      ...image,
    },
    ...{ project_id: x.projectId, labels, start_on_create: start_after_create, user_data: user_data ?? null },
    ssh_key_ids: await keyIds(x, ssh_keys),
    network_ids: await all('network', body.networks),
    firewall_ids: await all(
      'firewall',
      body.firewalls?.map(({ firewall }) => firewall),
    ),
    // These clients always request addresses, but a zone without addresses must still offer servers.
    ...(public_net.enable_ipv4 === false ? { enable_ipv4: false } : {}),
    ...(public_net.enable_ipv6 === false ? { enable_ipv6: false } : {}),
  }
}

/** Returns the field of an order that names the preset for a server type. */
export async function presetOf(x: Exchange, given: string | number): Promise<Record<string, string>> {
  const offers = await offersOf(x)
  if (offers.presets.some(({ slug }) => slug === given)) return { preset: String(given) }
  return { preset_id: await x.idOf('server_type', given) }
}

/** The password of a server's login user, if it has one and the token may see it. */
export async function passwordOf(x: Exchange, serverId: string): Promise<string | null> {
  const { ssh } = await x.v1<ServerDetails>('getServerDetails', { params: { server_id: serverId } })
  return ssh.password
}

/** @param serverId the server that may have the name @throws ApiError uniqueness_error */
async function requireFreeName(x: Exchange, name: string, serverId?: string): Promise<void> {
  const query = { project_id: x.projectId, name, limit: 2 }
  const { items } = await x.v1<{ items: Server[] }>('listServers', { query })
  if (items.some(({ server_id }) => server_id !== serverId)) throw taken('server', name)
}

export const serverRoutes: HcloudRoute[] = [
  answer({ method: 'GET', path: '/servers', run: listServers }),
  answer({ method: 'GET', path: '/servers/:id', run: async (x) => showServer(x, await x.server()) }),
  answer({
    method: 'POST',
    path: '/servers',
    body: Creation,
    run: async (x, body) => {
      refuseExtras(body)
      await requireFreeName(x, body.name)
      const order = await orderOf(x, body)
      const server = await x.v1<Server>('createServer', { body: order })
      const operation = await x.operation(server.current_operation?.operation_id ?? '')
      return {
        ...(await showServer(x, server)),
        action: actionView(x, operation),
        next_actions: order.start_on_create ? [startView(x, operation)] : [],
        root_password: order.ssh_key_ids.length === 0 ? await passwordOf(x, server.server_id) : null,
      }
    },
  }),
  answer({
    method: 'PUT',
    path: '/servers/:id',
    body: Type.Object({ name: Type.Optional(Type.String()), labels: Labels }),
    run: async (x, { name = '', labels }) => {
      const { server_id } = await x.server()
      if (name !== '') await requireFreeName(x, name, server_id)
      const body = { ...(name === '' ? {} : { name }), ...(labels ? { labels } : {}) }
      if (Object.keys(body).length === 0) return showServer(x, await x.server())
      return showServer(x, await x.v1<Server>('updateServer', { params: { server_id }, body }))
    },
  }),
  answer({
    method: 'DELETE',
    path: '/servers/:id',
    run: async (x) => {
      const { server_id } = await x.server()
      const operation = await x.begin('deleteServer', { params: { server_id } })
      return { action: await actionOf(x, operation) }
    },
  }),
  ...actionsOn({ kind: 'server', one: 'server', many: 'servers', find: (x) => x.server() }),
]
