import { createHash } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import { DriverError, type MachineSpec, type MachineState, type ServerNetwork } from '../driver.ts'
import { hashFor } from '../guest/crypt.ts'
import { vendorData } from '../guest/seed.ts'
import { type Device, type Devices, networkConfig, privateDevices, withPrivate } from './cards.ts'
import { volumeDevice, volumeDevices, volumeName, volumesAmong } from './volume-devices.ts'
import { DENIED, isWalled } from './walls.ts'

/** An instance in a list. If its member does not answer, it has neither configuration nor devices. */
export interface Instance {
  name: string
  status_code: number
  location: string
  last_used_at: string
  architecture: string
  ephemeral: boolean
  stateful: boolean
  profiles: string[]
  description: string
  config: Readonly<Record<string, string>> | null
  devices: Devices | null
}

/** Status codes of instances. */
const CODES = { stopped: 102, running: 103, error: 112 }

/** The service's own data, kept with the instance: there is no other storage. */
const KEYS = {
  server: 'user.berth.server',
  /** `on` from a start until the service turns it off: an instance that is off in between turned off by itself. */
  power: 'user.berth.power',
  network: 'user.berth.network',
  card: 'user.berth.card',
  disk: 'user.berth.disk',
  /** The time in milliseconds after which any process may remove a trial. */
  until: 'user.berth.until',
  /** The group of the trial's zone, because zones may share a project. */
  group: 'user.berth.group',
} as const

/** The fate of an instance whose member is evacuated. */
const EVACUATION = 'cluster.evacuate'
const NETWORK_CONFIG = 'cloud-init.network-config'
const META_DATA = 'user.meta-data'
const NO_DATA = '#cloud-config\n{}\n'
/** The walls of every instance that runs. */
const UNPRIVILEGED = {
  'security.privileged': 'false',
  'security.nesting': 'false',
  // Each instance has its own range of users on the host.
  'security.idmap.isolated': 'true',
  ...DENIED,
} as const

const PREFIX = 'b-'
/** The most processes and threads of a guest, because the host's table is limited. */
const MOST_PROCESSES = 4096

/** @throws DriverError not_found if the id can't be part of an instance's name */
export function nameOf(serverId: string): string {
  if (!/^[A-Za-z0-9-]{1,60}$/.test(serverId)) throw new DriverError('not_found', 'Invalid id of a machine')
  return `${PREFIX}${serverId}`
}

/** Returns the server of an instance; null: the instance is not Berth's. */
export function serverIdOf(name: string): string | null {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null
}

interface Place {
  storagePool: string
  nameservers: readonly string[]
}

/** The first card of a machine, which is routed so that guests share no network segment. */
interface Card {
  mac: string
  address: string
}

/** A new instance, turned off and without a network or volumes. */
export function newInstance(spec: MachineSpec, place: Place) {
  const card = cardOf(spec)
  return {
    name: nameOf(spec.serverId),
    type: 'container',
    profiles: [],
    config: {
      ...limitsOf(spec),
      ...UNPRIVILEGED,
      'cloud-init.vendor-data': vendorData({ ...spec, passwordHash: hashFor(spec.password, null) }),
      'cloud-init.user-data': spec.userData ?? NO_DATA,
      [NETWORK_CONFIG]: networkConfig(card.address, place.nameservers),
      // Images add it to their own meta-data, where the last value of a key counts.
      [META_DATA]: metaData(spec.instanceId),
      // Evacuating a member moves it to another one.
      [EVACUATION]: 'migrate',
      [KEYS.server]: spec.serverId,
      [KEYS.power]: 'off',
      [KEYS.card]: JSON.stringify(card),
      [KEYS.disk]: spec.diskId,
    },
    devices: {
      root: { type: 'disk', path: '/', pool: place.storagePool, size: `${spec.diskGb}GiB` },
      eth0: nic(card),
    },
  }
}

function metaData(instanceId: string): string {
  return `instance-id: ${JSON.stringify(PREFIX + instanceId)}\n`
}

/** @throws DriverError unsupported */
function cardOf({ interfaces }: MachineSpec): Card {
  const [first] = interfaces
  const address = first?.addresses.map(({ address }) => address).find((candidate) => isIPv4(candidate))
  if (!first || interfaces.length > 1 || address === undefined)
    throw new DriverError('unsupported', 'A machine must have exactly one card here, with an IPv4 address')
  return { mac: first.mac, address }
}

/** The unique name of the card's host side. The host's rules match it (deploy/incus.nft). */
function nic({ mac, address }: Card): Device {
  const number = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))
  const host_name = `bi${number.join('')}`
  return { type: 'nic', nictype: 'routed', name: 'eth0', hwaddr: mac, 'ipv4.address': address, host_name }
}

function limitsOf({ cpu, ramMb }: Pick<MachineSpec, 'cpu' | 'ramMb'>): Record<string, string> {
  return {
    'limits.cpu': String(cpu),
    'limits.memory': `${ramMb}MiB`,
    'limits.processes': String(MOST_PROCESSES),
  }
}

/** The parts of an instance that the service writes. */
type Written = Pick<
  Instance,
  'architecture' | 'ephemeral' | 'stateful' | 'profiles' | 'description' | 'config' | 'devices'
>

/** An instance with a change of its configuration or devices. */
export function changed(
  instance: Instance,
  change: { config?: Record<string, string>; devices?: Devices },
): Written {
  const { architecture, ephemeral, stateful, profiles, description, config, devices } = instance
  return {
    architecture,
    ephemeral,
    stateful,
    profiles,
    description,
    config: { ...config, ...change.config },
    devices: change.devices ?? devices,
  }
}

/** An instance of another size; its disk only grows. */
export function resized(instance: Instance, spec: MachineSpec): Written {
  const { root = {} } = instance.devices ?? {}
  const diskGb = Math.max(gigabytes(root.size), spec.diskGb)
  const devices = { ...instance.devices, root: { ...root, size: `${diskGb}GiB` } }
  return changed(instance, { config: limitsOf(spec), devices })
}

/**
 * An instance with a volume.
 * @param pool says if all members reach it, because an evacuation fails at an instance whose volume it can't move
 */
export function withVolume(
  instance: Instance,
  volumeId: string,
  pool: { name: string; isShared: boolean },
): Written {
  const devices = { ...instance.devices, [volumeName(volumeId)]: volumeDevice(volumeId, pool.name) }
  return changed(instance, { config: pool.isShared ? {} : { [EVACUATION]: 'stop' }, devices })
}

/** An instance without a volume. */
export function withoutVolume(instance: Instance, volumeId: string): Written {
  const { [volumeName(volumeId)]: _, ...devices } = instance.devices ?? {}
  const isFree = volumesAmong(devices).length === 0
  return changed(instance, { config: isFree ? { [EVACUATION]: 'migrate' } : {}, devices })
}

/**
 * Returns the settings of a copy of a machine that never starts. Incus merges them with the machine's own, so each
 * device is overridden with `none`: cards and ports belong to the machine.
 */
export function copyOf({ devices }: Instance) {
  const { root = {}, ...others } = devices ?? {}
  const none = Object.keys(others).map((name) => [name, { type: 'none' }] as const)
  return {
    type: 'container',
    profiles: [],
    config: COPIED,
    devices: { ...Object.fromEntries(none), root },
  }
}

/** Copies take no id range of the host, since only machines run. */
const COPIED = { 'security.idmap.isolated': 'false', [EVACUATION]: 'migrate' }

/** A copy of a machine without the machine's settings, logins and devices. */
export function stripped(copy: Instance): Written {
  const { root = {} } = copy.devices ?? {}
  const own = Object.entries(copy.config ?? {}).filter(([key]) => /^(volatile|image)\./.test(key))
  return { ...changed(copy, {}), config: { ...Object.fromEntries(own), ...COPIED }, devices: { root } }
}

/** The most processes and threads of a trial. */
const TRIAL_PROCESSES = 1024

/** A copy of a snapshot that boots to see if it starts: without cards, volumes, logins and user data. */
export function trialOf(
  { architecture }: Instance,
  trial: { instanceId: string; cpu: number; ramMb: number; diskMb: number; pool: string; until: number },
  group: string | undefined,
) {
  return {
    ...{ type: 'container', profiles: [], architecture },
    config: {
      ...limitsOf(trial),
      'limits.processes': String(TRIAL_PROCESSES),
      ...UNPRIVILEGED,
      // Neither its member's next start nor an evacuation starts it again.
      'boot.autostart': 'false',
      [EVACUATION]: 'stop',
      'cloud-init.vendor-data': NO_DATA,
      'cloud-init.user-data': NO_DATA,
      [NETWORK_CONFIG]: 'version: 1\nconfig: []\n',
      [META_DATA]: metaData(trial.instanceId),
      [KEYS.power]: 'on',
      [KEYS.until]: String(trial.until),
      [KEYS.group]: group ?? '',
    },
    devices: { root: { type: 'disk', path: '/', pool: trial.pool, size: `${trial.diskMb}MiB` } },
  }
}

/** True if a trial belongs to a zone with this group and its member answers. */
export function isTrialOf({ config }: Instance, group: string | undefined): boolean {
  // Incus keeps no empty values.
  return config !== null && (config[KEYS.group] ?? '') === (group ?? '')
}

/** The time after which any process may remove a trial; null: its member does not answer. */
export function untilOf({ config }: Instance): number | null {
  return config && Number(config[KEYS.until] ?? 0)
}

/** The size of an instance's disk in GB; 0: its member does not answer. */
export function diskGbOf({ devices }: Instance): number {
  return gigabytes(devices?.root?.size)
}

/** Parses the size of a disk or volume in GB, in the form that the service writes. */
export function gigabytes(size: string | undefined): number {
  return Number(/^(\d+)GiB$/.exec(size ?? '')?.[1] ?? 0)
}

export function isServer({ config }: Instance, serverId: string): boolean {
  return config?.[KEYS.server] === serverId
}

/** The server that an instance's settings name; null: none. */
export function serverOf({ config }: Instance): string | null {
  return config?.[KEYS.server] ?? null
}

/** The name of an instance's disk; undefined: it was created by an earlier version. */
export function diskOf({ config }: Instance): string | undefined {
  return config?.[KEYS.disk]
}

/** True if it never had a network: then it never ran, and has no data of its customer. */
export function isUnfinished({ config }: Instance): boolean {
  return config !== null && config[KEYS.network] === undefined
}

/** The change to write before a machine is turned on or off. */
export function powered(power: 'on' | 'off'): { config: Record<string, string> } {
  return { config: { ...DENIED, [KEYS.power]: power } }
}

/** Returns the machine's network as it was set last; null: never. */
export function networkOf({ config }: Instance): ServerNetwork | null {
  const kept = config?.[KEYS.network]
  return kept === undefined ? null : (JSON.parse(kept) as ServerNetwork) // as connected wrote it
}

/** Settings that all machines of a zone share. */
export interface Surroundings {
  /** The address where ports listen. */
  listen: string
  /** The uplink of private networks; null: there are none. */
  uplink: string | null
  project: string
  /** The prefix of private networks' names. */
  prefix: string
}

/** Returns an instance with its network and walls; null: nothing changes. */
export function connected(
  instance: Instance,
  network: ServerNetwork,
  { listen, uplink, prefix }: Surroundings,
): Written | null {
  const { config } = instance
  const card: Card = JSON.parse(config?.[KEYS.card] ?? '{}')
  const { root = {} } = instance.devices ?? {}
  // The zone has no firewalls, so a machine with firewall rules is closed completely.
  const isClosed = network.isCut || network.firewall !== null
  const eth0 = { ...nic(card), ...speedOf(network) }
  const open = { eth0, ...proxies(network, card, listen) }
  const cards = uplink !== null && !network.isCut ? network.cards : []
  const inner = privateDevices(instance.devices, cards, prefix)
  const devices: Devices = { root, ...(isClosed ? {} : open), ...inner, ...volumeDevices(instance.devices) }
  const kept = JSON.stringify(network)
  const isSame = config?.[KEYS.network] === kept && digest(devices) === digest(instance.devices)
  if (isSame && isWalled(config)) return null
  const seed = seedChange(config ?? {}, inner, cards)
  return changed(instance, { config: { ...DENIED, [KEYS.network]: kept, ...seed }, devices })
}

/**
 * Puts a guest's private cards into its seed, which it reads when it boots. A guest that is cut off gets them later.
 */
function seedChange(config: Device, inner: Devices, cards: ServerNetwork['cards']): Record<string, string> {
  const before = config[NETWORK_CONFIG]
  const after = before === undefined ? undefined : withPrivate(before, inner, cards)
  if (after === undefined || after === before) return {}
  return { [NETWORK_CONFIG]: after }
}

/** The bandwidth limits of a card, in both directions, in Incus's notation. */
function speedOf({ bandwidthMbit }: ServerNetwork): Device {
  if (bandwidthMbit === null) return {}
  const speed = `${bandwidthMbit}Mbit`
  return { 'limits.ingress': speed, 'limits.egress': speed }
}

function proxies({ ports }: ServerNetwork, { address }: Card, listen: string): Devices {
  const host = isIPv6(listen) ? `[${listen}]` : listen
  const entries = ports.map(({ protocol, hostPort, port }) => [
    `${protocol}-${hostPort}`,
    {
      type: 'proxy',
      listen: `${protocol}:${host}:${hostPort}`,
      // Ports lead to its address, not to its loopback: services that listen only there are private.
      connect: `${protocol}:${address}:${port}`,
    },
  ])
  return Object.fromEntries(entries)
}

/** Compares objects regardless of the order of their keys. */
function digest(devices: Devices | null): string {
  const sorted = Object.entries(devices ?? {})
    .map(([name, device]) => [name, Object.entries(device).sort()] as const)
    .sort(([a], [b]) => a.localeCompare(b))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex')
}

/** Returns the state of a machine; null: its member does not answer. */
export function stateOf(instance: Instance): MachineState {
  const { status_code, config, last_used_at } = instance
  if (config === null || status_code === CODES.error) return { power: 'away', isMoving: false }
  if (status_code === CODES.running) return { power: 'running', startedAt: Date.parse(last_used_at) }
  if (status_code !== CODES.stopped) return { power: 'hung' }
  if (config[KEYS.power] !== 'on') return { power: 'stopped', reason: null }
  // Incus records how an instance ended, unless its host crashed with it.
  const hasEnded = config['volatile.last_state.power'] !== 'RUNNING'
  return { power: 'stopped', reason: hasEnded ? 'guest_shutdown' : 'crashed' }
}

export function coresOf({ config }: Instance): number {
  return Number(config?.['limits.cpu'] ?? 1)
}

/** The reserved memory in MB. */
export function memoryOf({ config }: Instance): number {
  return Number(/^(\d+)MiB$/.exec(config?.['limits.memory'] ?? '')?.[1] ?? 0)
}
