/** The most volumes of a machine. */
export const MOST_VOLUMES = 16

/** The largest size of a volume. */
export const MOST_VOLUME_GB = 4096

/** The path at which a virtual machine's guest finds a volume. */
export function volumeDevice(volumeId: string): string {
  return `/dev/disk/by-id/scsi-0BERTH_Volume_${volumeId.replaceAll('-', '')}`
}

/** A driver's volumes: disks that outlive machines. It knows each by its id alone. */
export interface VolumeDriver {
  /**
   * Creates an empty volume, or grows it to this size, also while a running machine has it. It never shrinks.
   * @throws DriverError disk_full, unavailable, unsupported
   */
  volume(volumeId: string, sizeGb: number): Promise<void>

  /**
   * Attaches a volume to a machine: live if it runs, and for its next start. A volume that another machine has is
   * detached from that one first.
   * @throws DriverError not_found (no such volume), unavailable, unsupported (until its next start)
   */
  attachVolume(volumeId: string, serverId: string): Promise<void>

  /**
   * Detaches a volume at once, whether or not the guest uses it. Does nothing if the machine does not have it.
   * @throws DriverError unavailable, unsupported (a container has to be off)
   */
  detachVolume(volumeId: string, serverId: string): Promise<void>

  /** Detaches a volume and removes it with its data. It may be absent already. */
  removeVolume(volumeId: string): Promise<void>

  /** Lists all volumes, with the machine that each is attached to. */
  listVolumes(): Promise<Map<string, string | null>>
}
