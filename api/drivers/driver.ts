/**
 * The seam between Berth and whatever runs machines. A driver is thin: each method has one external effect,
 * is safe to call twice with the same argument, keeps no database and decides nothing. What a machine is doing
 * is always read back with `inspect`, never assumed.
 */

import type { ImageSpec, ImageState } from './images.ts'

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
] as const
export type Feature = (typeof features)[number]

/** All that a driver needs to know of a machine. The same spec always makes the same machine. */
export interface MachineSpec {
  serverId: string
  /** Machines of one owner share what the host gives to machines that boot. Opaque to drivers. */
  owner: string
  hostname: string
  cpu: number
  ramMb: number
  diskGb: number
  cpuType: CpuType
  /** The image for a machine without a disk; null: the disk must exist, and is never created anew. */
  image: ImageSpec | null
  username: string
  sshPublicKeys: readonly string[]
  /** Set if the server was created without keys; only its hash may reach a disk. */
  password: string | null
  /** The customer's cloud-init user data, verbatim. */
  userData: string | null
  interfaces: readonly NetworkInterface[]
}

export interface NetworkInterface {
  mac: string
  /** The guest's own addresses, one of each family. */
  addresses: readonly GuestAddress[]
}

/** The connections that lead to a machine and from it: values that change while it runs. */
export interface ServerNetwork {
  /** Its place in the network, of addresses.ts: no other machine has it. */
  number: number
  ports: readonly PublishedPort[]
  /** Where the internet finds it, and what it is there, by family: an address, and a /64; null: it has none. */
  public: { ipv4: string | null; ipv6: string | null }
  /** Its cards in private networks. */
  cards: readonly PrivateCard[]
  /** All that its firewalls let through; null: it has none, and everything gets through. */
  firewall: readonly FirewallRule[] | null
  /** Whether nothing gets through, in any direction. */
  isCut: boolean
  /** Whether it may connect to port 25 of others. */
  maySendMail: boolean
  /** How fast it may send, and be sent to, besides in private networks; null: as fast as it goes. */
  bandwidthMbit: number | null
}

/** A machine's card in a private network: all that may be sent by it is IPv4, from this address. */
export interface PrivateCard {
  /** The network: no other has this number, from 1 to MOST_NUMBERS. */
  network: number
  mac: string
  address: string
  prefixLength: number
}

/** Private networks that a machine may be in: it has room for this many cards that come while it runs. */
export const MOST_CARDS = 8

/** The network of a machine that nothing leads to. */
export const PLAIN_NETWORK: Omit<ServerNetwork, 'number'> = {
  ports: [],
  firewall: null,
  public: { ipv4: null, ipv6: null },
  cards: [],
  isCut: false,
  maySendMail: false,
  bandwidthMbit: null,
}

/** Ranges whose addresses may lead to machines, as CIDRs; they do not overlap. */
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

/** Connections that a firewall lets through: those into a guest, or those that begin in it. */
export interface FirewallRule {
  direction: 'in' | 'out'
  protocol: 'tcp' | 'udp' | 'icmp' | 'any'
  /** Ports of the guest for incoming connections, of the other end for outgoing ones; null: all. */
  ports: PortRange | null
  /** Where the other end is. */
  cidrs: readonly string[]
}

/** The guest's port that ssh answers on. */
export const SSH_PORT = 22

export type MachineState =
  | { power: 'absent' }
  /**
   * `guest_shutdown`: the guest turned itself off. `crashed`: the machine vanished while it should have been
   * running. `null`: it was turned off by powerOff, or never started.
   */
  | { power: 'stopped'; reason: 'guest_shutdown' | 'crashed' | null }
  /** `hasFixedPorts`: the ports of the host that lead to it are those of its start; `connect` changes them for its next. */
  | { power: 'running'; startedAt: number; hasFixedPorts?: boolean }
  /** A process is there but does not answer. A second one must not be started. */
  | { power: 'hung' }
  /** Its host can't be asked, or is just giving it to another: whether it runs is not known. */
  | { power: 'away'; isMoving: boolean }

/**
 * A machine's usage, in raw figures. An unknown value is null, never 0. Counters count from the start of the
 * machine's process and begin anew with the next one; a reset of the guest need not change them.
 */
export interface Measurement {
  measuredAt: number
  /** When the process that the counters belong to began; null: the machine is off or silent, only its disk is known. */
  startedAt: number | null
  cores: number
  /** Counter: time that the machine's virtual CPUs have run, all added up. */
  cpuMs: number | null
  /** As the guest says; nobody outside can tell its caches from what it needs. */
  memoryUsedBytes: number | null
  /** Bytes that the disk takes on the host, without its image. */
  diskUsedBytes: number | null
  /** Counters, of the disk and of the network as the guest sees it. */
  diskReadBytes: number | null
  diskWriteBytes: number | null
  networkRxBytes: number | null
  networkTxBytes: number | null
}

export interface GuestAddress {
  address: string
  prefixLength: number
  gateway: string
}

export interface HostKey {
  /** As ssh names it: ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa. */
  type: string
  /** OpenSSH's form: SHA256:base64 without padding. */
  fingerprint: string
  /** The key itself, base64, as it stands in a known_hosts file. */
  publicKey: string
}

export interface HostFacts {
  /** Sentence parts for people: "QEMU 7.2 with TCG" and why. */
  compute: string
  reason: string
  /** True where machines are real. */
  isReal: boolean
  cpuTypes: readonly CpuType[]
  features: readonly Feature[]
  cores: number
  ramMb: number
  /** All the disk that machines may fill: what is free now plus what they use already. */
  diskGb: number
  warnings: readonly string[]
}

/** One reader's place at a guest's serial console. */
export interface Console {
  /** Returns the guest's output as soon as there is some; null: the machine is off, or this was closed. */
  read(): Promise<Printed | null>
  /** Types. What the guest does not take goes nowhere: a line has little room. */
  write(bytes: Uint8Array): void
  close(): void
}

export interface Printed {
  bytes: Buffer
  /** How much before it was lost to this reader, who was too slow. */
  skipped: number
}

export interface Driver {
  host(): Promise<HostFacts>

  /**
   * Asks for an image and returns at once with how far it is; call again until `ready` or `failed`. Many callers
   * share one preparation. After a failure was reported, a later call tries again.
   * @param options.isWanted false only looks, and starts nothing
   */
  image(image: ImageSpec, options?: { isWanted: boolean }): Promise<ImageState>

  /**
   * Makes the machine's disk and seed, or brings an existing, stopped machine to this spec (the disk only grows).
   * @throws DriverError not_found (no disk, and no image for one), image_not_ready, image_unusable, disk_full
   */
  define(spec: MachineSpec): Promise<void>

  /**
   * Turns a defined machine on. `queued`: too many are booting, ask again shortly. Already running: `started`.
   * A machine is booting until its guest's kernel runs, whatever it does then. The last free slot is for owners that
   * boot nothing yet.
   * @throws DriverError port_taken, start_failed, not_found (also: it was never connected), unsupported (its firewall)
   */
  start(serverId: string): Promise<'started' | 'queued'>

  /** Presses the power button (ACPI). Returns at once; whether the guest obeys is its own affair. */
  shutdown(serverId: string): Promise<void>

  /** Presses the reset button of a running machine. */
  reset(serverId: string): Promise<void>

  /** Turns the machine off at once and waits until nothing of it runs. Fine if it is off or absent. */
  powerOff(serverId: string): Promise<void>

  /** powerOff, then nothing of the machine is left: no process, file or port. Fine when it is absent. */
  destroy(serverId: string): Promise<void>

  inspect(serverId: string): Promise<MachineState>

  /** The state of every machine that the driver can see, also those the caller does not know. */
  list(): Promise<Map<string, MachineState>>

  /**
   * Measures these machines in one call; absent machines are absent in the result. Takes some seconds at most: a
   * machine that does not answer has nulls, and neither delays the others nor fails the call.
   */
  measure(serverIds: readonly string[]): Promise<Map<string, Measurement>>

  /**
   * Whether the guest answers on ssh since its last start or reset, and with which host keys; null: not yet.
   * Takes a second at the most.
   */
  ready(serverId: string): Promise<{ hostKeys: HostKey[] } | null>

  /**
   * Brings the network of these machines to this, all at once: live where they run, and kept for their next start,
   * which needs it. Machines that are absent, and those that are not named, stay as they are. What a machine can't have
   * holds up nothing else.
   * @throws DriverError unavailable, unsupported (cards in private networks, until its next start or for good)
   */
  connect(networks: ReadonlyMap<string, ServerNetwork>): Promise<void>

  /**
   * Opens the serial console of a machine that is on. The guest never waits for a reader: one that is too slow misses
   * what is older than the last 64 KiB.
   * @param seen the end of what the reader has been shown; it begins after that, or else with those 64 KiB
   * @throws DriverError not_found (it is off), unsupported (it has none until its next start)
   */
  openConsole(serverId: string, seen?: Buffer): Promise<Console>

  /** Calls the listener soon after a machine turned off by itself. A hint only: `inspect` is the truth. */
  watch(listener: (serverId: string) => void): void

  /** Lets go of sockets and timers. Machines keep running. */
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
  /** Not by this machine as it is, or not on this host. */
  | 'unsupported'
  /** It would work, but endanger the host. */
  | 'unsafe'

/** A failure that the caller can act on. The message is for operators; of `image_unusable` and `port_taken`, customers too. */
export class DriverError extends Error {
  override readonly name = 'DriverError'
  readonly code: DriverErrorCode
  constructor(code: DriverErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
