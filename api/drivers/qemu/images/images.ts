import type { HostImages, ImageSpec, ImageState, KeptImage, OnProgress } from '../../images.ts'

/** The files and parameters to start an image's kernel without the guest's boot loader. */
export interface DirectBoot {
  kernel: string
  initrd: string
  append: string
}

/** An image that is complete and verified. Its files never change. */
export interface StoredImage extends KeptImage {
  /** The absolute path of an ISO, or of a qcow2 without a backing file, on which disks of servers are based. */
  disk: string
  direct: DirectBoot | null
  virtualSizeBytes: number
  /** The size of all its files. */
  bytes: number
  /** A description of its source for people. */
  source: string
}

/** Prepares and keeps the images that disks are made from. */
export interface ImageStore extends HostImages {
  /**
   * Returns the state of an image, and starts to prepare it if it is missing. Callers share one preparation. A
   * failure is reported for half a minute; after that, a further call tries again.
   */
  ensure(image: ImageSpec): Promise<ImageState>

  /** Returns the image if it is here and complete; otherwise null. */
  ready(image: ImageSpec): Promise<StoredImage | null>

  /** @throws ImageError if no source works */
  wait(image: ImageSpec, onProgress?: OnProgress, signal?: AbortSignal): Promise<StoredImage>

  /** Lists all images that are here. */
  list(): Promise<StoredImage[]>
}
