import type { Static, TObject, TProperties } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Driver, Feature, GuestAddress, PortRange, PublicPools } from './driver.ts'
import type { HostImages, ImageLog, ImageSpec } from './images.ts'
import type { Log } from './log.ts'

export const serverKinds = ['virtual_machine', 'container'] as const

/** A mistake in the catalogue file: a JSON pointer to its place, and a sentence. */
export type Fault = [pointer: string, message: string]

/** The fields of a zone in the catalogue that every driver may read. */
export interface ZoneFields {
  zone_slug: string
  driver?: string | undefined
  public_ipv4?: readonly string[] | undefined
  public_ipv6?: string | undefined
}

/** A zone with the driver's own fields. */
export type ZoneOf<Own extends TProperties> = ZoneFields & Static<TObject<Own>>

/** How the catalogue file names one kind of images. Drivers that use the same images share a format. */
export interface ImageFormat<Fields extends TProperties> {
  /** Fields of a template in the catalogue file. All are optional: a template needs one format only. */
  fields: Fields
  /** Mistakes in a template that the schema cannot express. */
  faults(template: Static<TObject<Fields>>, pointer: string): Fault[]
  /** @param folder where relative paths start */
  read(template: Static<TObject<Fields>>, folder: string): Partial<ImageSpec>
  /** True if the image is available in this format. */
  isIn(image: ImageSpec): boolean
  /** The files of this host that the image names. */
  files(image: ImageSpec): string[]
}

/** The addresses that a guest is configured with. */
export interface OwnAddresses {
  ipv4: GuestAddress
  ipv6: GuestAddress | null
  resolvers: readonly string[]
}

/** Text that all processes of an installation share, by server. */
export interface SharedStore {
  /** @param serverIds (default: all) */
  load(serverIds?: readonly string[]): Promise<Map<string, string>>
  /** Changes, creates or deletes the text of a server; no other process changes it meanwhile. */
  change(serverId: string, change: (text: string | undefined) => string | undefined): Promise<void>
}

/** The settings and services with which a driver is opened. */
export interface DriverPlace<Zone> {
  /** The zones that the driver serves, as the catalogue in force has them. */
  zones: () => readonly Zone[]
  /** The public ranges of these zones. */
  pools: () => PublicPools
  dataDir: string
  accel: 'auto' | 'kvm' | 'tcg'
  /** The address where ports that lead to servers listen. */
  address: string
  sshPorts: PortRange
  clock: Clock
  log: Log
  /** True if snapshots are copied to a place off site. */
  hasOffsite: boolean
  /** Null: no other process serves this installation. */
  shared: SharedStore | null
}

/** How an installation uses a driver. */
export interface DriverUse {
  dataDir: string
  accel: 'auto' | 'kvm' | 'tcg'
  /** True if BERTH_COMPUTE names the driver. */
  isChosen: boolean
  /** True if a zone or an existing server uses the driver. */
  isHeld: boolean
  /** The zones that name the driver. */
  zoneSlugs: readonly string[]
  /** The reason why the real driver of this host cannot be used; null: it can be used, or this driver is it. */
  obstacle: string | null
}

/** A protection that this host, its operator and other customers need if customers are strangers. */
export interface Wall {
  /** The protection as a noun that reads well after "ok" and after "missing". */
  name: string
  /** The consequence if the protection is missing, as a clause. */
  stops: string
  mend: string
  /** The missing part, as part of a sentence; null if nothing is missing. */
  gap: string | null
}

export interface Examination {
  walls: Wall[]
  /** A fault of the host that breaks no wall; null: none. */
  warning: string | null
  /** The reason why the driver cannot be used at all, as a sentence; null: it can. */
  obstacle: string | null
}

/** A tar file that is being written, with the files that it has so far. */
export interface Archive {
  readonly files: Readonly<Record<string, object>>
  /** @returns the names of files that changed while they were read, which are not in the archive */
  add(folder: string, names: readonly string[]): Promise<string[]>
}

/** Machines of a backup: all have a specification, and some their disk. */
export interface ArchivedMachines {
  specs: number
  disks: string[]
  /** Servers whose disk was requested but is not included. */
  leftOut: string[]
}

/** The machines, snapshots and volumes on a host's disk, or in a zone's cluster, by id. */
export interface Stock {
  /** Machines; false: the machine lacks its disk or its specification. */
  machines: ReadonlyMap<string, boolean>
  /** Snapshots and images; false: it is not complete. */
  snapshots: ReadonlyMap<string, boolean>
  volumes: ReadonlySet<string>
  /** Machines on a part of a cluster that does not answer: they may run. */
  away?: ReadonlySet<string>
}

/** A driver as the rest of the program sees it before it is opened: api/drivers/modules/modules.ts lists them all. */
export interface DriverModule<Name extends string, Own extends TProperties, OfTemplates extends TProperties> {
  /** The driver's name in zones and settings. */
  name: Name
  /** The driver's name in sentences. */
  title: string
  kind: (typeof serverKinds)[number]
  /** False: its machines exist in memory only. */
  isReal: boolean
  /** True if each zone has a separate driver and pool; otherwise zones share the driver of this host. */
  isPerZone: boolean
  /** Its machines are processes of this host, so that one process of the service alone can serve them. */
  isBoundToProcess: boolean
  image: ImageFormat<OfTemplates>
  /** Its own fields of a zone in the catalogue file. */
  zoneFields: Own
  /** Mistakes in the zones of a catalogue that the schema cannot express. */
  zoneFaults(zones: readonly ZoneOf<Own>[]): Fault[]
  /** The features of a zone as far as they are known before its driver has ever answered. */
  features(zone: ZoneOf<Own>): Feature[]
  /** The address where ports of a zone's servers listen; null: the address of the installation. */
  listensAt(zone: ZoneOf<Own>): string | null
  /** The addresses of a server. @param number its number, of addresses.ts */
  addresses(zone: ZoneOf<Own>, number: number): OwnAddresses
  /** The path at which a guest finds an attached volume. */
  volumePath(volumeId: string): string
  /** @throws DriverError unavailable, or unsafe; with what to do */
  open(place: DriverPlace<ZoneOf<Own>>): Promise<{ driver: Driver; images: HostImages | null }>
  /** Examines the walls without opening the driver, even while another process has it open. */
  examine(use: DriverUse): Promise<Examination>
  /** Opens the images that the driver keeps on this host. */
  openImages?(dataDir: string, log: ImageLog): HostImages
  /** True if the data folder holds the machine of one of these servers. */
  hasMachine?(dataDir: string, serverIds: readonly string[]): boolean
  /** Lists the data folder without opening the driver, even while another process has it open. */
  stock?(dataDir: string): Promise<Stock>
  /** Looks at the cluster of a zone without opening the driver. @throws DriverError unavailable */
  zoneStock?(zone: ZoneOf<Own>): Promise<Stock>
  /** Adds the files of its machines in the data folder to a backup. */
  archive?(archive: Archive, dataDir: string, withDisks: boolean): Promise<ArchivedMachines>
}
