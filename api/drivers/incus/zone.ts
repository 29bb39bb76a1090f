import path from 'node:path'
import Type, { type Static } from 'typebox'
import type { Feature } from '../driver.ts'
import type { Fault, ImageFormat, ZoneOf } from '../module.ts'

declare module '../images.ts' {
  interface ImageSpec {
    incus?: IncusImage
  }
}

/** An image of Incus: a file of this host, or one that the cluster fetches from an image server. */
export type IncusImage = { file: string } | { alias: string; server: string }

const Name = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' })
const File = Type.String({ pattern: '^/', errorMessage: 'must be an absolute path.' })
const Address = Type.Union([Type.String({ format: 'ipv4' }), Type.String({ format: 'ipv6' })])

const Section = Type.Object({
  addresses: Type.Array(
    Type.String({
      pattern: '^(unix:/.|https://[^/]+$)',
      errorMessage: 'must be unix:/path of a socket, or https://host:port.',
    }),
    { minItems: 1, maxItems: 64, uniqueItems: true },
  ),
  // Files, required if addresses begin with https: our certificate and key, and the cluster's own certificate.
  certificate: Type.Optional(File),
  key: Type.Optional(File),
  server_certificate: Type.Optional(File),
  // The kind of servers. There is only one yet, but it is too important for a default.
  instances: Type.Literal('container'),
  project: Type.Optional(Name),
  storage_pool: Type.Optional(Name),
  // A cluster group, or the user.zone of members (default: the whole cluster).
  group: Type.Optional(Name),
  // The address of the members where the ports of servers listen (default: BERTH_GUEST_HOST).
  listen: Type.Optional(Address),
  // The cluster's network that its OVN networks have as their uplink: the zone then has private networks.
  uplink: Type.Optional(Name),
  // The members have a volume for exports: with BERTH_OFFSITE, snapshots are copied off site, and there are backups.
  exports: Type.Optional(Type.Boolean()),
  nameservers: Type.Array(Address, { minItems: 1, maxItems: 3 }),
})

export const zoneFields = { incus: Type.Optional(Section) }
type Zone = ZoneOf<typeof zoneFields>

const imageFields = {
  incus: Type.Optional(
    Type.Object({
      file: Type.Optional(Type.String({ minLength: 1 })),
      alias: Type.Optional(Type.String({ minLength: 1 })),
      server: Type.Optional(Type.String({ pattern: '^https://' })),
    }),
  ),
}

/** A template's image for Incus: a file, or an image of a server such as images.linuxcontainers.org. */
export const incusImages: ImageFormat<typeof imageFields> = {
  fields: imageFields,
  faults: ({ incus }, pointer) =>
    incus && (incus.file === undefined) === (incus.alias === undefined || incus.server === undefined)
      ? [[`${pointer}/incus`, 'must be either file, or alias and server.']]
      : [],
  read: ({ incus }, folder) => {
    if (!incus) return {}
    const { file, alias = '', server = '' } = incus
    return { incus: file === undefined ? { alias, server } : { file: path.resolve(folder, file) } }
  },
  isIn: ({ incus }) => incus !== undefined,
  files: ({ incus }) => (incus && 'file' in incus ? [incus.file] : []),
}

/** The mistakes in zones on Incus. */
export function zoneFaults(zones: readonly Zone[]): Fault[] {
  return zones.flatMap(({ driver, incus, ...zone }, at): Fault[] => {
    const place = `/zones/${at}`
    if (driver !== 'incus') return incus ? [[place, 'incus requires driver: incus.']] : []
    if (!incus) return [[place, 'driver: incus requires incus, with the addresses of the cluster.']]
    const fault = sectionFault(incus)
    if (fault !== null) return [[`${place}/incus`, fault]]
    if (zones.slice(0, at).some((other) => other.incus && doOverlap(other.incus, incus)))
      return [[`${place}/incus`, 'another zone uses the same members: give each zone a group.']]
    if (zone.public_ipv4 || zone.public_ipv6)
      return [[place, 'zones on Incus have no public addresses: remove public_ipv4 and public_ipv6.']]
    return []
  })
}

function sectionFault(section: Static<typeof Section>): string | null {
  const { certificate, key, server_certificate, addresses, listen, uplink } = section
  const isRemote = addresses.some((address) => address.startsWith('https:'))
  if (isRemote && !(certificate && key && server_certificate))
    return 'addresses with https require certificate, key and server_certificate.'
  if (isRemote && listen === undefined)
    return 'addresses with https require listen: an address of the members, not of this machine.'
  // Incus has this name for networks without an uplink: up to 6.0.4 they keep the ports of deleted servers.
  return uplink === 'none' ? 'uplink must be a network of the cluster.' : null
}

/** True if two zones have members in common, as far as the catalogue shows. */
function doOverlap(one: Static<typeof Section>, other: Static<typeof Section>): boolean {
  const isSameCluster = one.addresses.some((address) => other.addresses.includes(address))
  return isSameCluster && (one.group === undefined || other.group === undefined || one.group === other.group)
}

/** The cluster of a zone, with all defaults filled in. */
export interface IncusZone {
  /** The API of the cluster's members: `unix:/path` or `https://host:port`. */
  addresses: readonly string[]
  certificate?: string | undefined
  key?: string | undefined
  server_certificate?: string | undefined
  project: string
  storage_pool: string
  group?: string | undefined
  listen?: string | undefined
  uplink?: string | undefined
  exports?: boolean | undefined
  nameservers: readonly string[]
}

export function withDefaults({
  project = 'berth',
  storage_pool = 'default',
  ...section
}: Static<typeof Section>): IncusZone {
  return { ...section, project, storage_pool }
}

/**
 * The features of a zone, also while its cluster does not answer.
 * @param hasVolumes the pool of the zone holds volumes to their size (default: that is not known)
 */
export function featuresOf(
  { uplink, exports }: Pick<IncusZone, 'uplink' | 'exports'>,
  { hasVolumes } = { hasVolumes: false },
): Feature[] {
  return [
    'published_ports',
    ...(uplink === undefined ? [] : (['private_networks'] as const)),
    'console',
    'snapshots',
    ...(exports ? (['backups'] as const) : []),
    'reset_password',
    ...(hasVolumes ? (['volumes'] as const) : []),
  ]
}
