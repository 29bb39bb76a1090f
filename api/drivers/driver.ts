/**
 * The interface between Berth and the programs that run machines. A driver is thin: each method has one external
 * effect and is safe to call twice with the same argument. It has no database and decides nothing. The state of a
 * machine is always read with `inspect`, never assumed.
 */

import type { Console } from './console.ts'
import type { ImageSpec, ImageState } from './images.ts'
import type { Measurement } from './measurement.ts'
import type { SnapshotDriver, SnapshotFiles, SnapshotSpec } from './snapshots.ts'
import type { VolumeDriver } from './volumes.ts'

export const cpuTypes = ['amd', 'intel'] as const
export type CpuType = (typeof cpuTypes)[number]

/** Features that engines can offer servers beyond running them. */
export const features = [
  'public_ipv4',
  'public_ipv6',
  'published_ports',
  'private_networks',
  'firewalls',
  'console',
  'snapshots',
  'backups',
  'images',
  'reset_password',
  'volumes',
  'rescue',
  'live_resize',
  'screen',
  'isos',
] as const
export type Feature = (typeof features)[number]

/** The specification of a machine. The same one always creates the same machine. */
export interface MachineSpec {
  serverId: string
  /** Machines of one owner share the host's slots for booting machines. Opaque to drivers. */
  owner: string
  hostname: string
  cpu: number
  ramMb: number
  diskGb: number
  cpuType: CpuType
  /** The source of the disk if the machine has none yet; null: the disk must exist, and is never created anew. */
  image: ImageSpec | SnapshotSpec | null
  /** The name of the disk, if one is created. Names sort by age. A machine that has a disk keeps its name. */
  diskId: string
  /**
   * The guest sets itself up anew (host keys, logins, user data) if this id differs from the one in its disk. A
   * restored disk gets the id of its snapshot, so that it stays as it was.
   */
  instanceId: string
  username: string
  sshPublicKeys: readonly string[]
  /** The password of a server without keys; null: it has keys. Only its hash may be written to a disk. */
  password: string | null
  /** The customer's cloud-init user data, verbatim. */
  userData: string | null
  interfaces: readonly NetworkInterface[]
}

/**
 * The machine that boots a snapshot in a trial. A driver may give it fewer resources, and gives it no logins or
 * user data.
 */
export type TrialMachine = Omit<MachineSpec, 'serverId' | 'image' | 'sshPublicKeys' | 'password' | 'userData'>

/** A rescue system, which a machine boots from a separate disk. Its own disk stays attached as `server-disk`. */
export interface RescueSpec
  extends Pick<MachineSpec, 'hostname' | 'username' | 'sshPublicKeys' | 'password'> {
  /** Identifies the rescue: another id creates the system anew. */
  rescueId: string
  image: ImageSpec
}

export interface NetworkInterface {
  mac: string
  /** The guest's own addresses, one of each family. */
  addresses: readonly GuestAddress[]
}

/** The network settings of a machine, which may change while it runs. */
export interface ServerNetwork {
  /** Its unique number, from which its addresses follow (addresses.ts). */
  number: number
  ports: readonly PublishedPort[]
  /** Its public addresses by family: an IPv4 address, and a /64 of IPv6; null: none. */
  public: { ipv4: string | null; ipv6: string | null }
  /** Its cards in private networks. */
  cards: readonly PrivateCard[]
  /** The rules of its firewalls; null: it has no firewall, and everything is allowed. */
  firewall: readonly FirewallRule[] | null
  /** True if all its traffic is blocked. */
  isCut: boolean
  /** True if it may connect to port 25 of other hosts. */
  maySendMail: boolean
  /** The bandwidth in each direction, except in private networks; null: unlimited. */
  bandwidthMbit: number | null
}

/** A machine's card in a private network. It may only send IPv4, from this address. */
export interface PrivateCard {
  /** The unique number of the network, from 1 to MOST_NUMBERS. */
  network: number
  mac: string
  address: string
  prefixLength: number
}

/** The most private networks of a machine: it has slots for as many cards to be added while it runs. */
export const MOST_CARDS = 8

/** The network settings of a machine that cannot be reached from outside. */
export const PLAIN_NETWORK: Omit<ServerNetwork, 'number'> = {
  ports: [],
  firewall: null,
  public: { ipv4: null, ipv6: null },
  cards: [],
  isCut: false,
  maySendMail: false,
  bandwidthMbit: null,
}

/** Ranges of public addresses for machines, as CIDRs that do not overlap. */
export interface PublicPools {
  ipv4: readonly string[]
  ipv6: readonly string[]
}

export interface PortRange {
  first: number
  last: number
}

/** A port of the host that leads to a port of the guest. */
export interface PublishedPort {
  protocol: 'tcp' | 'udp'
  hostPort: number
  port: number
}

/** A rule that allows connections to a guest, or from it. */
export interface FirewallRule {
  direction: 'in' | 'out'
  protocol: 'tcp' | 'udp' | 'icmp' | 'any'
  /** The guest's ports for incoming connections, the peer's for outgoing ones; null: all. */
  ports: PortRange | null
  /** The ranges of the peer's address. */
  cidrs: readonly string[]
}

/** The guest's SSH port. */
export const SSH_PORT = 22

export type MachineState =
  | { power: 'absent' }
  /**
   * `guest_shutdown`: the guest turned itself off. `crashed`: the machine vanished while it should have been
   * running. `null`: it was turned off by powerOff, or never started.
   */
  | { power: 'stopped'; reason: 'guest_shutdown' | 'crashed' | null }
  /** `hasFixedPorts`: its published ports only change with its next start. */
  | { power: 'running'; startedAt: number; hasFixedPorts?: boolean }
  /** Its process exists but does not answer. A second one must not be started. */
  | { power: 'hung' }
  /** Its host does not answer, or is moving it to another one, so it may or may not be running. */
  | { power: 'away'; isMoving: boolean }

export interface GuestAddress {
  address: string
  prefixLength: number
  gateway: string
}

export interface HostKey {
  /** The type in OpenSSH's notation: ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa. */
  type: string
  /** OpenSSH's form: SHA256:base64 without padding. */
  fingerprint: string
  /** The key itself, base64, as it stands in a known_hosts file. */
  publicKey: string
}

export interface HostFacts {
  /** The engine for people, such as "QEMU 7.2 with TCG", and why it was chosen; both as parts of a sentence. */
  compute: string
  reason: string
  /** False if machines exist in memory only. */
  isReal: boolean
  cpuTypes: readonly CpuType[]
  features: readonly Feature[]
  cores: number
  ramMb: number
  /** The disk space for machines in GB: the free space plus what machines use already. */
  diskGb: number
  warnings: readonly string[]
}

export interface GuestLogin {
  username: string
  password: string
}

export interface Driver extends VolumeDriver, SnapshotDriver<TrialMachine> {
  host(): Promise<HostFacts>

  /**
   * Requests an image and returns its state immediately; call again until `ready` or `failed`. Callers share one
   * preparation. A call after a reported failure tries again.
   * @param options.isWanted false only returns the state, and starts nothing
   */
  image(image: ImageSpec, options?: { isWanted: boolean }): Promise<ImageState>

  /**
   * Creates the machine's disk and seed, or brings an existing, stopped machine to this spec (the disk only grows).
   * @throws DriverError not_found (no disk, and no image for one, or no such snapshot), image_not_ready,
   *   image_unusable, disk_full, unsupported (snapshots)
   */
  define(spec: MachineSpec): Promise<void>

  /**
   * Grows the disk of a machine that is on, and tells the guest's agent, if one runs, to grow its root file system.
   * @throws DriverError not_found (it is off), unavailable, unsupported
   */
  growDisk(serverId: string, diskGb: number): Promise<void>

  /**
   * Decides what a machine that is off boots from its next start on: a rescue system, or its own disk (null).
   * @throws DriverError not_found, start_failed (it is on), image_not_ready, disk_full, unsupported
   */
  rescue(serverId: string, rescue: RescueSpec | null): Promise<void>

  /**
   * Inserts an ISO into the drive of a machine, or ejects the one in it (null), even if the guest uses it. It takes
   * effect at once if the machine is on, and for later starts, which boot the ISO before the disk.
   * @param iso the id of a customer's file, or an ISO of the operator
   * @throws DriverError not_found (no such machine or ISO), image_not_ready, unavailable, unsupported
   */
  insertIso(serverId: string, iso: string | ImageSpec | null): Promise<void>

  /**
   * Starts a defined machine. Returns `started` also if it already runs, and `queued` if too many are booting: call
   * again shortly. A machine counts as booting until its guest's kernel runs. The last free slot is for owners
   * without booting machines.
   * @throws DriverError port_taken, start_failed, not_found (also: it was never connected), unsupported (its firewall)
   */
  start(serverId: string): Promise<'started' | 'queued'>

  /** Presses the power button (ACPI) and returns immediately. The guest may ignore it. */
  shutdown(serverId: string): Promise<void>

  /** Presses the reset button of a running machine. */
  reset(serverId: string): Promise<void>

  /** Turns the machine off immediately and waits until nothing of it runs. It may be off or absent already. */
  powerOff(serverId: string): Promise<void>

  /**
   * Turns the machine off and removes everything: processes, files and ports. It may be absent already. Its volumes are
   * detached, and stay.
   * @param olderThan a disk's name: a machine with this disk or a newer one is left as it is. So a command that was
   *   delayed cannot remove a disk that was created after it was sent.
   */
  destroy(serverId: string, olderThan?: string): Promise<void>

  inspect(serverId: string): Promise<MachineState>

  /** Lists the states of all machines, including those that the caller does not know. */
  list(): Promise<Map<string, MachineState>>

  /**
   * Measures these machines in one call; absent machines are absent in the result. Takes some seconds at most: a
   * machine that does not answer has nulls, and neither delays the others nor fails the call.
   */
  measure(serverIds: readonly string[]): Promise<Map<string, Measurement>>

  /**
   * Returns the guest's SSH host keys as soon as it answers after its last start or reset; null: not yet. It takes a
   * second at most.
   */
  ready(serverId: string): Promise<{ hostKeys: HostKey[] } | null>

  /**
   * Sets the networks of these machines in one call: live if they run, and for their next start, which is refused
   * without one. It skips absent machines and leaves all others as they are. A failure for one machine does not stop
   * the others.
   * @throws DriverError unavailable, unsupported (cards in private networks, until its next start or for good)
   */
  connect(networks: ReadonlyMap<string, ServerNetwork>): Promise<void>

  /**
   * Sets the password of a user in a running guest, by the guest's agent if it is a virtual machine.
   * @throws DriverError not_found (it is off), unavailable (the guest does not do it), unsupported (until its next start)
   */
  setPassword(serverId: string, login: GuestLogin): Promise<void>

  /**
   * Configures the address of a private network card in a running guest, which otherwise does so at its next boot. If
   * the card is new to the guest, it takes several calls.
   * @throws DriverError as setPassword
   */
  setAddress(serverId: string, card: PrivateCard): Promise<void>

  /**
   * Opens the serial console of a running machine. The guest never waits for a reader: a slow one misses output that is
   * older than the last 64 KiB.
   * @param seen the last output that the reader has; reading continues after it, or with the kept 64 KiB if it is not
   * there
   * @throws DriverError not_found (it is off), unsupported (it has none until its next start)
   */
  openConsole(serverId: string, seen?: Buffer): Promise<Console>

  /**
   * Opens the display of a running machine, over a connection of its own. While nobody looks, it costs next to nothing.
   * @throws DriverError not_found (it is off), unsupported (it has none until its next start)
   */
  openScreen(serverId: string): Promise<Console>

  /** Calls the listener soon after a machine turned off by itself. This is only a hint: `inspect` has the state. */
  watch(listener: (serverId: string) => void): void

  /** Closes sockets and timers. Machines keep running. */
  close(): Promise<void>
}

export type DriverErrorCode =
  | 'port_taken'
  | 'start_failed'
  | 'not_found'
  | 'image_not_ready'
  | 'image_unusable'
  | 'disk_full'
  | 'unavailable'
  /** The host can't do it, or the machine can't in its present state. */
  | 'unsupported'
  /** It would work, but would endanger the host. */
  | 'unsafe'

/** A failure that callers can handle. Operators see the message; customers only that of `image_unusable` or `port_taken`. */
export class DriverError extends Error {
  override readonly name = 'DriverError'
  readonly code: DriverErrorCode
  constructor(code: DriverErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A driver without screens and ISOs, whose disks grow only while the machine is off. */
export abstract class WithoutDevices implements Pick<Driver, 'growDisk' | 'openScreen' | 'insertIso'> {
  growDisk = refuse
  insertIso = async (_serverId: string, iso: string | ImageSpec | null): Promise<void> => {
    if (iso !== null) await refuse()
  }
  openScreen = refuse
}

/** The files of a driver without snapshots. */
export function noSnapshotFiles(code: DriverErrorCode, message: string): SnapshotFiles {
  const refuse = async (): Promise<never> => {
    throw new DriverError(code, message)
  }
  return { list: refuse, read: refuse, write: refuse, accept: refuse }
}

const refuse = async (): Promise<never> => {
  throw new DriverError('unsupported', 'This driver has no such devices.')
}

/**
 * True if a machine has this disk already, or a newer one.
 * @param own the name of its disk; machines of earlier versions have none
 */
export function hasDisk(own: string | undefined, wanted: string | undefined): boolean {
  return wanted !== undefined && own !== undefined && own >= wanted
}
