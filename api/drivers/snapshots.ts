/** A ready snapshot or image, as the source of a new disk. The new disk is at least as large as the copied one. */
export interface SnapshotSpec {
  snapshotId: string
}

/** A disk image in a customer's file that was received completely. */
export interface FileSpec {
  /** Files of different owners take turns. Opaque to drivers. */
  owner: string
  bytes: number
  /** The hash that the file must have; null: any. */
  sha256: string | null
  /** True: it becomes an ISO for drives, and not an image for disks. */
  isIso?: boolean
}

export function isSnapshot<Other extends object>(image: Other | SnapshotSpec): image is SnapshotSpec {
  return 'snapshotId' in image
}

export type SnapshotState =
  | { state: 'copying'; progress: number }
  | {
      state: 'ready'
      /** The size of the copy on the host, with the full copy that a difference needs. */
      bytes: number
      /** The full copy below a difference, and its size; missing: the copy is full. */
      base?: SnapshotSpec & { bytes: number }
      /** The size of the copied disk. */
      diskGb: number
      /** `filesystem`: the guest's file systems stood still for the moment of the copy; `crash`: they did not. */
      consistency: 'filesystem' | 'crash'
      /** True: the host can't read the snapshot's bytes, so it is neither verified nor copied off site. */
      isOpaque?: true
      /**
       * True: the snapshot can only be exported, with different bytes each time. So its copy off site is verified
       * instead.
       */
      isExported?: true
    }
  /**
   * `message` is for operators. The copy is gone, and a call with the same id begins it anew. `slow`: it was not
   * finished within the time limit.
   */
  | { state: 'failed'; code: 'disk_full' | 'slow' | 'failed'; message: string }

/** `message` is for operators. A missing snapshot is damaged, too. */
export type VerifyState =
  | { state: 'reading' }
  | { state: 'intact' }
  | { state: 'damaged'; message: string }
  /** The snapshot exists, but can only be exported and not read, so its copy off site must be compared instead. */
  | { state: 'exported' }

/** The evidence that a system is up: its agent answered, its console shows a login, or its init runs the services. */
export const bootSigns = ['agent', 'console', 'init'] as const
export type BootSign = (typeof bootSigns)[number]

export type TrialState =
  /** No trial was begun, because another one runs or the host is busy. */
  | { state: 'queued' }
  | { state: 'booting' }
  | { state: 'booted'; sign: BootSign }
  /** The kernel ran without a panic until the end of the trial, but nothing shows that its init is up. */
  | { state: 'unproven' }
  /** `message` is for operators. */
  | { state: 'failed'; message: string }

/** `message` of an unusable image is for its customer. */
export type ImportState = SnapshotState | { state: 'failed'; code: 'unusable'; message: string }

/** A file of a snapshot. A driver can restore the snapshot from its files alone. */
export interface SnapshotFile {
  name: string
  bytes: number
  sha256: string
  /** Set if the file belongs to a full copy that several snapshots share; undefined: it is this snapshot's own. */
  of?: SnapshotSpec & { name: string }
}

/** The files of a driver's snapshots, which are copied to another place and back. */
export interface SnapshotFiles {
  /**
   * True: `list` exports a snapshot unless an export of it is kept, and each export has other bytes, in a file of another
   * name.
   */
  readonly areExports?: true

  /**
   * @returns the files of a ready snapshot, always in the same order; null: there is none
   * @throws DriverError unsupported; of exports also unavailable (it is still being exported), disk_full
   */
  list(snapshotId: string): Promise<SnapshotFile[] | null>

  /** Reads bytes of a file. @throws DriverError not_found, unavailable, unsupported */
  read(snapshotId: string, part: { name: string; at: number; length: number }): Promise<Uint8Array>

  /** Removes an export that `list` has made. There may be none. @throws DriverError unavailable */
  release?(snapshotId: string): Promise<void>

  /**
   * Writes bytes of a file of a snapshot that is brought back, from the file's beginning to its end. Writing at 0
   * again discards earlier bytes. The snapshot is not listed until `accept`.
   * @param part.left the number of bytes that follow this part: the call fails if the disk has no room for them
   * (default: 0)
   * @throws DriverError disk_full, unavailable, unsupported
   */
  write(
    snapshotId: string,
    part: { name: string; at: number; bytes: Uint8Array; left?: number },
  ): Promise<void>

  /**
   * Publishes a snapshot whose files were written, if each matches its size and hash. Does nothing if it is ready
   * already.
   * @returns the name of a damaged file, after which the snapshot is removed; null: all files are intact
   * @throws DriverError unavailable, unsupported
   */
  accept(snapshotId: string, files: readonly SnapshotFile[]): Promise<string | null>
}

/** A driver's snapshots and customers' images. It knows each by its id alone. */
export interface SnapshotDriver<TrialMachine> {
  readonly snapshotFiles: SnapshotFiles

  /**
   * Begins or continues to copy the disk of a machine, running or off, and returns the state immediately; call again
   * until `ready` or `failed`. The copy shows one moment of the disk. It continues if the machine turns off meanwhile.
   * @param baseId a full copy of an earlier disk of the machine, to which the copy may be a difference. It may be
   *   removed at any time: the copy keeps what it needs
   * @throws DriverError not_found (no such machine), unavailable, unsupported
   */
  snapshot(serverId: string, snapshotId: string, baseId?: string): Promise<SnapshotState>

  /**
   * Keeps a part of a customer's file until `importImage`, durably. A part may be received again. After a failure any
   * of its bytes may be there. A part that comes after `importImage` has begun is ignored.
   * @param at its place in the file: 0, or the end of a part that was received
   * @throws DriverError not_found (the bytes before it are not here), disk_full, unavailable, unsupported; the content's
   *   own error
   */
  receive(imageId: string, at: number, content: AsyncIterable<Buffer>): Promise<void>

  /**
   * Begins or continues to make an image from a snapshot or a file, as `snapshot` does from a disk; from then on it is
   * like a snapshot under this id. The file is checked before anything acts on it, and removed afterwards.
   * @throws DriverError not_found (no such snapshot or file), unavailable, unsupported
   */
  importImage(imageId: string, source: SnapshotSpec | FileSpec): Promise<ImportState>

  /**
   * Ends and removes an unfinished copy or a received file, or removes a snapshot. It may be absent already. Disks that were created from
   * it keep working.
   */
  removeSnapshot(snapshotId: string): Promise<void>

  /**
   * Begins or continues to compare a ready snapshot with what was noted when it was made, and returns the state
   * immediately; call again until `intact` or `damaged`.
   * @throws DriverError unavailable, unsupported
   */
  verifySnapshot(snapshotId: string): Promise<VerifyState>

  /**
   * Begins or continues to boot a ready snapshot to see if its system starts, and returns the state immediately; call
   * again until `booted`, `unproven` or `failed`, then `endTrial`. It has no network and a disk that is thrown away.
   * A host runs one trial at a time, begins none while a machine boots, and ends it with the service. No list of
   * machines has it.
   * @throws DriverError not_found (no such snapshot), disk_full, start_failed, unavailable, unsupported
   */
  trySnapshot(snapshotId: string, machine: TrialMachine): Promise<TrialState>

  /** Ends a trial and removes all of it. There may be none. */
  endTrial(snapshotId: string): Promise<void>

  /**
   * Lists all snapshots that are not removed, also unfinished ones.
   * @param snapshotIds (default: all)
   */
  listSnapshots(snapshotIds?: readonly string[]): Promise<Map<string, { isReady: boolean; bytes: number }>>
}
