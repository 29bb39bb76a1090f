// The fields that clients of the hcloud API read, noted from the structures of hcloud-go 1.35.3 and 2.47.0, which are the
// schema of Berth's replies. A ? allows null.

const leaves = {
  int: (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0,
  number: (value: unknown) => typeof value === 'number' && value >= 0,
  text: (value: unknown) => typeof value === 'string',
  flag: (value: unknown) => typeof value === 'boolean',
  time: (value: unknown) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value),
  labels: (value: unknown) => typeof value === 'object' && value !== null,
  any: () => true,
} as const
type Leaf = keyof typeof leaves

/** A kind of value, or an object of fields, perhaps in a list, perhaps null. */
interface Shape {
  leaf?: Leaf
  fields?: Readonly<Record<string, Shape>>
  isList: boolean
  isNullable: boolean
}

/** Reads fields such as `id:int name:text? servers:int[]`. */
function of(text: string, nested: Readonly<Record<string, Shape>> = {}): Shape {
  const own = text.split(' ').map((field): [string, Shape] => {
    const [, name = '', leaf, mark] = /^(\w+):(\w+)(\?|\[\])?$/.exec(field) ?? []
    if (!leaf || !(leaf in leaves)) throw new Error(`${field} is not a field with its kind`)
    return [name, { leaf: leaf as Leaf, isList: mark === '[]', isNullable: mark === '?' }] // by the line before
  })
  return { fields: { ...Object.fromEntries(own), ...nested }, isList: false, isNullable: false }
}
const list = (shape: Shape): Shape => ({ ...shape, isList: true })
const maybe = (shape: Shape): Shape => ({ ...shape, isNullable: true })

/** Lists the places at which a value differs from a shape; further fields are allowed, as clients skip them. */
export function differences(shape: Shape, value: unknown, place: string): string[] {
  if (value === null && shape.isNullable) return []
  if (shape.isList) {
    if (!Array.isArray(value)) return [`${place} is not a list`]
    return value.flatMap((item, at) => differences({ ...shape, isList: false }, item, `${place}[${at}]`))
  }
  if (shape.leaf) return leaves[shape.leaf](value) ? [] : [`${place} is not ${shape.leaf}`]
  if (typeof value !== 'object' || value === null) return [`${place} is not an object`]
  return Object.entries(shape.fields ?? {}).flatMap(([name, part]) =>
    differences(part, Object(value)[name], `${place}.${name}`),
  )
}

const money = of('net:text gross:text')
const protection = of('delete:flag')
const location = of(
  'id:int name:text description:text country:text city:text latitude:number longitude:number network_zone:text',
)
const server_types = of('supported:int[] available:int[]')
const datacenter = of('id:int name:text description:text', { location, server_types })
const prices = list(of('location:text', { price_hourly: money, price_monthly: money }))
const server_type = of(
  'id:int name:text description:text cores:int memory:number disk:int storage_type:text category:text cpu_type:text architecture:text deprecated:flag',
  {
    prices,
    locations: list(of('id:int name:text recommended:flag available:flag deprecation:any')),
  },
)
const image = of(
  'id:int status:text type:text name:text? description:text image_size:number? disk_size:number created:time bound_to:int? os_flavor:text os_version:text? rapid_deploy:flag deprecated:time? labels:labels architecture:text',
  { created_from: maybe(of('id:int name:text')), protection },
)
const action = of('id:int status:text command:text progress:number started:time finished:time?', {
  error: maybe(of('code:text message:text')),
  resources: list(of('id:int type:text')),
})
const dns_ptr = list(of('ip:text dns_ptr:text'))
const public_net = of('floating_ips:int[]', {
  ipv4: maybe(of('ip:text blocked:flag dns_ptr:text')),
  ipv6: maybe(of('ip:text blocked:flag', { dns_ptr })),
  firewalls: list(of('id:int status:text')),
})
const iso = of(
  'id:int name:text description:text type:text deprecated:time? deprecation:any architecture:text?',
)
const server = of(
  'id:int name:text status:text created:time included_traffic:number outgoing_traffic:number? ingoing_traffic:number? backup_window:text? rescue_enabled:flag locked:flag labels:labels volumes:int[] primary_disk_size:int placement_group:any load_balancers:int[]',
  {
    ...{ server_type, location, datacenter, image: maybe(image), public_net, iso: maybe(iso) },
    private_net: list(of('network:int ip:text alias_ips:text[] mac_address:text')),
    protection: of('delete:flag rebuild:flag'),
  },
)
const ssh_key = of('id:int name:text fingerprint:text public_key:text labels:labels created:time')
const NETWORK = 'id:int name:text created:time ip_range:text labels:labels servers:int[]'
const network = of(`${NETWORK} load_balancers:int[] expose_routes_to_vswitch:flag`, {
  protection,
  subnets: list(of('type:text ip_range:text network_zone:text gateway:text')),
  routes: list(of('destination:text gateway:text')),
})
const firewall = of('id:int name:text labels:labels created:time', {
  rules: list(
    of('direction:text protocol:text port:text? description:text? source_ips:text[] destination_ips:text[]'),
  ),
  applied_to: list(of('type:text')),
})
const volume = of(
  'id:int name:text server:int? status:text size:int labels:labels linux_device:text created:time format:text?',
  { location, protection },
)
const ADDRESS = 'id:int name:text ip:text type:text created:time labels:labels blocked:flag'
const floating_ip = of(`${ADDRESS} description:text? server:int?`, {
  dns_ptr,
  protection,
  home_location: location,
})
const primary_ip = of(`${ADDRESS} assignee_id:int? assignee_type:text auto_delete:flag`, {
  ...{ dns_ptr, protection, location, datacenter },
})
const pricing = of(
  'currency:text vat_rate:text floating_ips:any[] primary_ips:any[] load_balancer_types:any[]',
  {
    ...{
      image: of('price_per_gb_month:any'),
      volume: of('price_per_gb_month:any'),
      traffic: of('price_per_tb:any'),
    },
    server_backup: of('percentage:text'),
    server_types: list(of('id:int name:text', { prices })),
  },
)

const objects = {
  location,
  datacenter,
  server_type,
  image,
  iso,
  action,
  server,
  ssh_key,
  network,
  firewall,
  volume,
}
const named = { ...objects, floating_ip, primary_ip }
const pagination = of(
  'page:int per_page:int previous_page:int? next_page:int? last_page:int total_entries:number',
)

/** The members that a reply may have, by name. */
export const members: Readonly<Record<string, Shape>> = {
  ...named,
  ...Object.fromEntries(Object.entries(named).map(([name, shape]) => [`${name}s`, list(shape)])),
  ...{
    pricing,
    next_actions: list(action),
    meta: of('pagination:any', { pagination }),
  },
  action: maybe(action),
  root_password: { leaf: 'text', isList: false, isNullable: true },
  metrics: of('start:time end:time step:number time_series:labels'),
  error: of('code:text message:text details:labels'),
}
