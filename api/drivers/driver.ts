/**
 * The seam between Berth and whatever runs machines. A driver is thin: each method has one external effect,
 * is safe to call twice with the same argument, keeps no database and decides nothing. What a machine is doing
 * is always read back with `inspect`, never assumed.
 */

/** As the catalogue's zones and settings name them. */
export const driverNames = ['qemu', 'simulator'] as const
export type DriverName = (typeof driverNames)[number]

export const cpuTypes = ['amd', 'intel'] as const
export type CpuType = (typeof cpuTypes)[number]

/** One place an image can come from. A template lists several; the first that works is used. */
export type ImageSource =
  | { type: 'url'; url: string; sha256?: string; sha512?: string; checksums_url?: string }
  | { type: 'file'; path: string; sha256?: string }
  | { type: 'build'; name: string }

export interface ImageSpec {
  /** The template's slug: also the name under which operators see the image. */
  slug: string
  sources: readonly ImageSource[]
}

export type ImageState =
  | { state: 'absent' }
  | { state: 'ready'; bytes: number; virtualSizeGb: number; source: string }
  /** `progress` is 0..1 over the whole preparation; `detail` is a phrase for people, e.g. "downloading 34%". */
  | { state: 'preparing'; progress: number; detail: string }
  /** `message` is for operators: it may name packages and addresses. */
  | { state: 'failed'; message: string }

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
  /** What a machine without a disk gets one from; null: it has to have its disk, which is never made anew. */
  image: ImageSpec | null
  username: string
  sshPublicKeys: readonly string[]
  /** Set if the server was created without keys; only its hash may reach a disk. */
  password: string | null
  /** The customer's cloud-init user data, verbatim. */
  userData: string | null
  interfaces: readonly NetworkInterface[]
  /** Ports of the host that lead to ports of the guest. */
  forwards: readonly Forward[]
}

export interface NetworkInterface {
  mac: string
}

export interface Forward {
  protocol: 'tcp'
  hostPort: number
  guestPort: number
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
  | { power: 'running'; startedAt: number }
  /** A process is there but does not answer. A second one must not be started. */
  | { power: 'hung' }

/**
 * What a machine has used, in raw figures. What cannot be known is null, never 0. Counters count from the start of
 * the machine's process and begin anew with the next one; a reset of the guest need not touch them.
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
  /** What the disk takes of the host's, without the image that it stands on. */
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
  cores: number
  ramMb: number
  /** All the disk that machines may fill: what is free now plus what they use already. */
  diskGb: number
  warnings: readonly string[]
}

export interface Driver {
  host(): Promise<HostFacts>

  /**
   * Asks for an image and returns at once with how far it is; call again until `ready` or `failed`. Many callers
   * share one preparation. After a failure was reported, a later call tries again.
   */
  image(image: ImageSpec): Promise<ImageState>

  /**
   * Makes the machine's disk and seed, or brings an existing, stopped machine to this spec (the disk only grows).
   * @throws DriverError not_found (no disk, and no image for one), image_not_ready, image_unusable, disk_full
   */
  define(spec: MachineSpec): Promise<void>

  /**
   * Turns a defined machine on. `queued`: too many are booting, ask again shortly. Already running: `started`.
   * A machine is booting until its guest's kernel runs, whatever it does then. The last free slot is for owners that
   * boot nothing yet.
   * @throws DriverError port_taken, start_failed, not_found
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
   * What these machines have used, in one call; machines that are absent are absent here too. Takes some seconds at
   * the most: a machine that does not answer has nulls, and neither holds up the others nor fails the call.
   */
  measure(serverIds: readonly string[]): Promise<Map<string, Measurement>>

  /**
   * Whether the guest answers on ssh since its last start or reset, and with which host keys; null: not yet.
   * Takes a second at the most.
   */
  ready(serverId: string): Promise<{ hostKeys: HostKey[] } | null>

  /** The machine's address inside its network, as its guest sees it; null: not known. */
  network(serverId: string): { ipv4: GuestAddress | null }

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

/** A failure that the caller can act on. The message is for operators; of `image_unusable` and `port_taken`, customers too. */
export class DriverError extends Error {
  override readonly name = 'DriverError'
  readonly code: DriverErrorCode
  constructor(code: DriverErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
