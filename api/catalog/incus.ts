import Type, { type Static } from 'typebox'
import type { DriverName, IncusZone } from '../drivers/driver.ts'

const Name = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' })
const File = Type.String({ pattern: '^/', errorMessage: 'must be an absolute path.' })

/** What a zone on Incus says of its cluster. */
export const IncusSection = Type.Object({
  addresses: Type.Array(
    Type.String({
      pattern: '^(unix:/.|https://[^/]+$)',
      errorMessage: 'must be unix:/path of a socket, or https://host:port.',
    }),
    { minItems: 1, maxItems: 64, uniqueItems: true },
  ),
  // Files, where addresses begin with https: ours, and the cluster's own certificate.
  certificate: Type.Optional(File),
  key: Type.Optional(File),
  server_certificate: Type.Optional(File),
  // What servers are. There is one answer yet, and it is not left to a default.
  instances: Type.Literal('container'),
  project: Type.Optional(Name),
  storage_pool: Type.Optional(Name),
  // A cluster group, or what members have as user.zone; without it the zone is the whole cluster.
  group: Type.Optional(Name),
  // The address of the members where the ports of servers listen; without it BERTH_GUEST_HOST.
  listen: Type.Optional(Type.Union([Type.String({ format: 'ipv4' }), Type.String({ format: 'ipv6' })])),
  // The network of the cluster that its networks of OVN have as their uplink: then the zone has private networks.
  uplink: Type.Optional(Name),
  nameservers: Type.Array(Type.Union([Type.String({ format: 'ipv4' }), Type.String({ format: 'ipv6' })]), {
    minItems: 1,
    maxItems: 3,
  }),
})
type IncusSection = Static<typeof IncusSection>

/** A template's image for zones on Incus: a file beside this one, or an image of a server such as images.linuxcontainers.org. */
export const IncusSource = Type.Object({
  file: Type.Optional(Type.String({ minLength: 1 })),
  alias: Type.Optional(Type.String({ minLength: 1 })),
  server: Type.Optional(Type.String({ pattern: '^https://' })),
})

interface Zoned {
  driver?: DriverName | undefined
  incus?: IncusSection | undefined
  public_ipv4?: readonly string[] | undefined
  public_ipv6?: string | undefined
}

/** What is wrong with zones on Incus, each with its place. */
export function incusFaults(zones: readonly Zoned[]): [pointer: string, message: string][] {
  return zones.flatMap(({ driver, incus, ...zone }, at): [string, string][] => {
    const place = `/zones/${at}`
    if (driver !== 'incus') return incus ? [[place, 'incus requires driver: incus.']] : []
    if (!incus) return [[place, 'driver: incus requires incus, with the addresses of the cluster.']]
    const { certificate, key, server_certificate, addresses, uplink } = incus
    const isRemote = addresses.some((address) => address.startsWith('https:'))
    if (isRemote && !(certificate && key && server_certificate))
      return [[`${place}/incus`, 'addresses with https require certificate, key and server_certificate.']]
    if (isRemote && incus.listen === undefined)
      return [
        [
          `${place}/incus`,
          'addresses with https require listen: an address of the members, not of this machine.',
        ],
      ]
    // As Incus calls networks without one: up to 6.0.4 these keep the ports of servers that are gone.
    if (uplink === 'none') return [[`${place}/incus`, 'uplink must be a network of the cluster.']]
    if (zones.slice(0, at).some((other) => other.incus && doOverlap(other.incus, incus)))
      return [[`${place}/incus`, 'another zone has these members: give each a group.']]
    if (zone.public_ipv4 || zone.public_ipv6)
      return [[place, 'zones on Incus have no public addresses: take public_ipv4 and public_ipv6 out.']]
    return []
  })
}

/** Whether two zones have members in common, as far as they say. */
function doOverlap(one: IncusSection, other: IncusSection): boolean {
  const isSameCluster = one.addresses.some((address) => other.addresses.includes(address))
  return isSameCluster && (one.group === undefined || other.group === undefined || one.group === other.group)
}

/** With what is usual where nothing is said. */
export function incusZone({ project = 'berth', storage_pool = 'default', ...zone }: IncusSection): IncusZone {
  return { ...zone, project, storage_pool }
}
