/** Verifies a download: a checksum, or a list of checksums that its vendor has signed. */
export interface Checksums {
  sha256?: string
  sha512?: string
  checksums_url?: string
  /** The list's signature; without it the list itself is clear-signed. */
  signature_url?: string
  /** The address of the vendor's public key, and the fingerprint that the key must have. */
  key_url?: string
  fingerprint?: string
  /** The vendor signs no list: the list is trusted because of TLS alone. */
  unsigned?: boolean
}

/** One place that a disk image can come from. A template lists several; the first that works is used. */
export type ImageSource =
  | ({ type: 'url'; url: string } & Checksums)
  | { type: 'file'; path: string; sha256?: string }
  | { type: 'build'; name: string }

/** A template's image. A driver whose machines do not start from disk images adds a field of its own. */
export interface ImageSpec {
  /** The template's slug: also the name under which operators see the image. */
  slug: string
  /** Disk images; empty if the template has none. */
  sources: readonly ImageSource[]
  /** True for an ISO of the operator, which goes into drives: no disk is created from it. */
  isIso?: boolean
}

export type ImageState =
  | { state: 'absent' }
  | { state: 'ready'; bytes: number; virtualSizeGb: number; source: string }
  /** `progress` is 0..1 over the whole preparation; `detail` is a phrase for people, e.g. "downloading 34%". */
  | { state: 'preparing'; progress: number; detail: string }
  /** `message` is for operators: it may name packages and addresses. */
  | { state: 'failed'; message: string }

export type Preparing = Extract<ImageState, { state: 'preparing' }>
export type OnProgress = (state: Preparing) => void

/** An image that is complete and checked. */
export interface KeptImage {
  /** sha256 of the disk. */
  id: string
}

/** The disk images that this host keeps, for the operator's commands. */
export interface HostImages {
  /** The state of an image; starts nothing. */
  state(image: ImageSpec): Promise<ImageState>

  /** The image if it is here, complete; else null. */
  ready(image: ImageSpec): Promise<KeptImage | null>

  /** True if an image has to be built here, because none of its downloads answers. */
  willBeBuilt(image: ImageSpec): Promise<boolean>

  /**
   * Prepares an image and waits for it. The signal ends the waiting, not the work: `close` does that.
   * @throws Error if no source works
   */
  wait(image: ImageSpec, onProgress?: OnProgress, signal?: AbortSignal): Promise<KeptImage>

  /** Stops all work. The next start resumes downloads. */
  close(): Promise<void>
}

/** Prints a line for the operator, which may name paths of this host. */
export type ImageLog = (line: string, level?: 'info' | 'warn') => void
