import type { Act, Kind, Request } from './acting.ts'
import type { Chance } from './chance.ts'
import type { Method } from './customer.ts'
import { payments } from './paying.ts'
import { roles } from './people.ts'
import { uploads } from './uploads.ts'

const one = ({ customer: { known, recent }, chance }: Request, kind: Kind): string | undefined =>
  chance.pick(
    kind !== 'members' && chance.is(recent === 1 ? 0.95 : 0.8) ? known[kind].slice(-recent) : known[kind],
  )

/** Sends a request about one of the customer's resources, if there is one. */
function about(
  kind: Kind,
  path: (id: string) => string,
  body: (request: Request) => object = () => ({}),
): Act {
  return async (request) => {
    const id = one(request, kind)
    return (id && request.customer.client.insist(request.chance, 'POST', path(id), body(request))) || null
  }
}

const pathOf = (kind: Kind) =>
  ['tokens', 'projects', 'members'].includes(kind) ? `/account/${kind}` : `/${kind}`

function patching(kind: Kind, body: (request: Request) => object): Act {
  return async (request) => {
    const id = one(request, kind)
    const { customer, chance } = request
    return id ? customer.client.send(chance, 'PATCH', `${pathOf(kind)}/${id}`, body(request)) : null
  }
}

function removing(kind: Kind, query = ''): Act {
  return async (request) => {
    const id = one(request, kind)
    const path = `${pathOf(kind)}/${id}${query}`
    return id ? request.customer.client.insist(request.chance, 'DELETE', path) : null
  }
}

/** Creates an object, and remembers it. */
function creating(kind: Kind, path: string, idOf: string, body: (request: Request) => object | null): Act {
  return async (request) => {
    const { customer, chance, keep } = request
    const wanted = body(request)
    if (!wanted) return null
    const reply = await customer.client.insist(chance, 'POST', path, wanted)
    const id: unknown = reply && reply.status < 300 ? reply.body[idOf] : undefined
    if (typeof id === 'string') customer.known[kind].push(id)
    keep(reply?.body?.token)
    keep(reply?.body?.secret)
    return reply
  }
}

const LISTS = [
  '/servers',
  '/servers?status=running',
  '/operations?limit=5',
  '/snapshots',
  '/backups',
  '/images',
  '/isos',
  '/volumes',
  '/account/members',
  '/addresses',
  '/networks',
  '/firewalls',
  '/webhooks',
  '/events?limit=20',
  '/account/me',
  '/account/transactions?limit=5',
  '/account/balance',
  '/account/usage',
  '/account/audit?limit=5',
  '/account/tokens',
  '/account/projects',
  '/account/payments?limit=5',
  '/account/auto_top_up',
  '/account/transfers?limit=5',
  '/account/credits?limit=5',
  '/account/complaints?limit=5',
  '/announcements',
  '/pricing/capacity',
  '/zones',
] as const

const name = (chance: Chance) => `n-${chance.below(10_000)}`
const size = (chance: Chance) => ({
  cpu: chance.pick([1, 2, 4]),
  ram_mb: chance.pick([512, 1024, 4096]),
  disk_gb: chance.pick([10, 20, 40]),
})

const LARGE = { cpu: 6, ram_mb: 6144, disk_gb: 60 }

/** Draws optional parts of an order: a custom plan, ports, networks. */
const order = (request: Request) => ({ ...plan(request), ...source(request) })
const plan = ({ customer, chance }: Request) => ({
  zone_slug: 'local-1',
  cpu_type: 'amd',
  start_on_create: chance.is(0.8),
  ...(chance.is(0.5)
    ? { plan_type: 'preset', preset_id: customer.preset }
    : { plan_type: 'custom', ...size(chance) }),
  ...(chance.is(0.2) ? { name: name(chance) } : {}),
  ...(chance.is(0.2) ? { labels: { env: chance.pick(['prod', 'test']) } } : {}),
  ...(chance.is(0.2) ? { enable_ipv4: true } : {}),
  ...(chance.is(0.2) ? { backups_enabled: true } : {}),
})

/** Draws the system of a new server: mostly a template, sometimes an own snapshot or image. */
function source(request: Request) {
  const { customer, chance } = request
  const own = chance.pick(['snapshots', 'images', ...Array(6).fill('template')])
  const id = own === 'template' ? undefined : one(request, own)
  if (id === undefined) return { template_id: customer.template }
  return own === 'images' ? { image_id: id } : { snapshot_id: id }
}

/** Sends a request about one of the newest copies of disks that the account has. */
const ofCopy = (
  path: '/backups' | '/snapshots',
  send: (copy: { id: string; server_id: string }) => [Method, string, object?],
): Act => {
  return async ({ customer: { client }, chance }) => {
    const list = await client.send(chance, 'GET', `${path}?limit=5`)
    const copy = list?.status === 200 ? chance.pick<Record<string, string>>(list.body.items) : undefined
    const { server_id = '', backup_id, snapshot_id = '' } = copy ?? {}
    return copy ? client.insist(chance, ...send({ id: backup_id ?? snapshot_id, server_id })) : null
  }
}

const orderingOnce = creating('servers', '/servers', 'server_id', order)

/** Orders a server, and changes the order if it is refused for its disk or its address. */
const ordering: Act = async (request) => {
  let reply = await orderingOnce(request)
  for (let left = 2; left > 0 && reply && [409, 422].includes(reply.status); left -= 1)
    reply = await orderingOnce(request)
  return reply
}

/** Everything that customers do with /v1, by name. */
export const acts = {
  order: ordering,
  /** Deletes a server that is still being created, while another one is, too. */
  give_up: async (request) => {
    const { customer, chance } = request
    const other = chance.is(0.5) ? ordering(request) : null
    const reply = await ordering(request)
    await other
    const id = customer.known.servers.at(-1)
    return reply && id ? customer.client.insist(chance, 'DELETE', `/servers/${id}`) : null
  },
  /** Deletes a server that is still being resized. */
  give_up_resize: async ({ customer: { client, known }, chance }) => {
    const path = `/servers/${known.servers.at(-1)}`
    const reply = await client.send(chance, 'PATCH', path, LARGE)
    return reply && reply.status < 300 ? client.insist(chance, 'DELETE', path) : reply
  },
  quote: async (request) => {
    const { name: _name, labels: _labels, ...wanted } = { name: '', labels: {}, ...order(request) }
    return request.customer.client.send(request.chance, 'POST', '/pricing/quote', wanted)
  },
  start: about('servers', (id) => `/servers/${id}/start`),
  stop: about(
    'servers',
    (id) => `/servers/${id}/stop`,
    ({ chance }) => ({ force: chance.is(0.4), timeout_seconds: 30 }),
  ),
  reboot: about(
    'servers',
    (id) => `/servers/${id}/reboot`,
    ({ chance }) => ({ force: chance.is(0.4), timeout_seconds: 30 }),
  ),
  reset_password: about('servers', (id) => `/servers/${id}/reset_password`),
  resize: patching('servers', ({ chance }) => size(chance)),
  grow: patching('servers', () => LARGE),
  grow_disk: patching('servers', ({ chance }) => ({ disk_gb: chance.between(5, 60) })),
  describe: patching('servers', ({ chance }) => ({
    labels: { env: chance.pick(['prod', 'test']) ?? '' },
    delete_protection: chance.is(0.1),
  })),
  rename: patching('servers', ({ chance }) => ({ name: name(chance) })),
  rebuild: about(
    'servers',
    (id) => `/servers/${id}/rebuild`,
    ({ customer }) => ({ template_id: customer.template }),
  ),
  delete: removing('servers'),
  snapshot: creating('snapshots', '/snapshots', 'snapshot_id', (request) => {
    const server_id = one(request, 'servers')
    return server_id ? { server_id } : null
  }),
  restore: ofCopy('/snapshots', ({ id, server_id }) => [
    'POST',
    `/servers/${server_id}/restore`,
    { snapshot_id: id },
  ]),
  remove_snapshot: removing('snapshots'),
  image: creating('images', '/images', 'image_id', (request) => {
    const snapshot_id = one(request, 'snapshots')
    return snapshot_id ? { name: name(request.chance), snapshot_id } : null
  }),
  remove_image: removing('images'),
  backups: patching('servers', ({ chance }) =>
    chance.is(0.85) ? { backups_enabled: true, backup_window: chance.below(24) } : { backups_enabled: false },
  ),
  keep_backup: ofCopy('/backups', ({ id }) => ['POST', `/backups/${id}/snapshot`, {}]),
  remove_backup: ofCopy('/backups', ({ id }) => ['DELETE', `/backups/${id}`]),
  restore_backup: ofCopy('/backups', ({ id, server_id }) => [
    'POST',
    `/servers/${server_id}/restore`,
    { backup_id: id },
  ]),
  rescue: about('servers', (id) => `/servers/${id}/rescue`),
  unrescue: about('servers', (id) => `/servers/${id}/unrescue`),
  volume: creating('volumes', '/volumes', 'volume_id', ({ chance }) => ({
    name: name(chance),
    zone_slug: 'local-1',
    size_gb: chance.pick([1, 5, 10]),
  })),
  attach_volume: about(
    'volumes',
    (id) => `/volumes/${id}/attach`,
    (request) => ({ server_id: one(request, 'servers') ?? '' }),
  ),
  detach_volume: about('volumes', (id) => `/volumes/${id}/detach`),
  grow_volume: patching('volumes', ({ chance }) => ({ size_gb: chance.pick([5, 10, 20]) })),
  remove_volume: removing('volumes'),
  change_role: patching('members', ({ chance }) => ({ role: chance.pick(roles) })),
  /** Removes a member, often the first, who is an owner and perhaps the caller. */
  remove_member: async (request) => {
    const { customer, chance } = request
    const id = chance.is(0.4) ? customer.known.members[0] : one(request, 'members')
    return id ? customer.client.insist(chance, 'DELETE', `/account/members/${id}`) : null
  },
  reserve: creating('addresses', '/addresses', 'address_id', (request) => {
    const server_id = request.chance.is(0.5) ? one(request, 'servers') : undefined
    const family = request.chance.pick(['ipv4', 'ipv6'])
    return { zone_slug: 'local-1', family, ...(server_id ? { server_id } : {}) }
  }),
  move_address: patching('addresses', (request) => ({
    server_id: request.chance.is(0.6) ? (one(request, 'servers') ?? null) : null,
  })),
  release: removing('addresses', '?force=true'),
  publish: async (request) => {
    const { customer, chance } = request
    const id = one(request, 'servers')
    if (!id) return null
    const wanted = { protocol: 'tcp', port: chance.pick([80, 443, 8080]) }
    const reply = await customer.client.insist(chance, 'POST', `/servers/${id}/ports`, wanted)
    if (reply && reply.status < 300) customer.known.ports.push(`${id}/ports/${reply.body.port_id}`)
    return reply
  },
  unpublish: async (request) => {
    const port = one(request, 'ports')
    return port ? request.customer.client.insist(request.chance, 'DELETE', `/servers/${port}`) : null
  },
  network: creating('networks', '/networks', 'network_id', ({ chance }) => ({
    name: name(chance),
    zone_slug: 'local-1',
    ip_range: `10.${chance.below(200)}.0.0/24`,
  })),
  attach: about(
    'networks',
    (id) => `/networks/${id}/servers`,
    (request) => ({ server_id: one(request, 'servers') ?? '' }),
  ),
  detach: async (request) => {
    const [network, server] = [one(request, 'networks'), one(request, 'servers')]
    if (!network || !server) return null
    return request.customer.client.insist(request.chance, 'DELETE', `/networks/${network}/servers/${server}`)
  },
  remove_network: removing('networks'),
  firewall: creating('firewalls', '/firewalls', 'firewall_id', ({ chance }) => ({
    name: name(chance),
    rules: [{ direction: 'in', protocol: 'tcp', ports: '22' }],
    ...(chance.is(0.3) ? { label_selector: 'env=prod' } : {}),
  })),
  protect: about(
    'firewalls',
    (id) => `/firewalls/${id}/servers`,
    (request) => ({ server_ids: [one(request, 'servers') ?? ''] }),
  ),
  unprotect: async (request) => {
    const [firewall, server] = [one(request, 'firewalls'), one(request, 'servers')]
    if (!firewall || !server) return null
    return request.customer.client.insist(
      request.chance,
      'DELETE',
      `/firewalls/${firewall}/servers/${server}`,
    )
  },
  change_rules: patching('firewalls', ({ chance }) => ({
    rules: [{ direction: 'in', protocol: 'tcp', ports: chance.pick(['22', '80', '443']) }],
  })),
  remove_firewall: removing('firewalls'),
  webhook: creating('webhooks', '/webhooks', 'webhook_id', ({ chance }) => ({
    name: name(chance),
    url: `https://${chance.pick(['a', 'b'])}${chance.below(3)}.example.com/in/${chance.below(2 ** 30)}`,
    event_types: ['*'],
  })),
  pause_webhook: patching('webhooks', ({ chance }) => ({ is_enabled: chance.is(0.7) })),
  try_webhook: about('webhooks', (id) => `/webhooks/${id}/test`),
  remove_webhook: removing('webhooks'),
  token: creating('tokens', '/account/tokens', 'token_id', ({ chance }) => ({
    name: name(chance),
    scopes: ['servers:read'],
  })),
  revoke: removing('tokens'),
  project: creating('projects', '/account/projects', 'project_id', ({ chance }) => ({ name: name(chance) })),
  move_project: patching('servers', (request) => ({ project_id: one(request, 'projects') ?? '' })),
  remove_project: removing('projects'),
  read: async ({ customer, chance }) => customer.client.send(chance, 'GET', chance.pick(LISTS) ?? '/zones'),
  show: async (request) => {
    const id = one(request, 'servers')
    const part = request.chance.pick(['', '/details', '/operations', '/ports', '/stats'])
    return id ? request.customer.client.send(request.chance, 'GET', `/servers/${id}${part}`) : null
  },
  ...payments,
  ...uploads,
  answer: async ({ customer: { client }, chance }) => {
    const list = await client.send(
      chance,
      'GET',
      `/account/complaints?status=${chance.is(0.2) ? 'closed' : 'open'}`,
    )
    const one = list?.status === 200 ? chance.pick<{ complaint_id: string }>(list.body.items) : undefined
    const text = `answer ${chance.below(2 ** 30)}`
    return one
      ? client.insist(chance, 'POST', `/account/complaints/${one.complaint_id}/answers`, { text })
      : null
  },
  overstep: async ({ customer, chance }) =>
    customer.reader.send(chance, 'POST', '/account/projects', { name: 'x' }),
} satisfies Record<string, Act>

export type ActName = keyof typeof acts

/** The acts that need no existing object. */
export const FIRST = ['order', 'order', 'order', 'volume', 'network', 'firewall'] as const

/** Acts that only create own objects, or read nothing of others. */
export const HARMLESS: readonly ActName[] = [
  'order',
  'give_up',
  'quote',
  'reserve',
  'network',
  'firewall',
  'webhook',
  'token',
  'project',
  'volume',
  'keep_backup',
  'remove_backup',
  'restore_backup',
  'restore',
  'read',
  'pay',
  'charge_method',
  'auto_top_up',
  'stop_auto_top_up',
  'forget_method',
  'transfer',
  'redeem',
  'crowd',
  'upload_image',
  'upload_iso',
  'fetch_image',
  'fetch_iso',
  'resume_image',
  'resume_iso',
  'answer',
]
