import type { ImageSpec, ImageState } from '../../driver.ts'

/** What it takes to start an image's kernel without the guest's boot loader. */
export interface DirectBoot {
  kernel: string
  initrd: string
  append: string
}

/** An image that is whole and checked. Its files never change. */
export interface StoredImage {
  /** sha256 of `disk`. */
  id: string
  /** Absolute path of a qcow2 without backing file: the base of servers' disks. */
  disk: string
  direct: DirectBoot | null
  virtualSizeBytes: number
  /** Size of all its files. */
  bytes: number
  /** Where it came from, in words. */
  source: string
}

/** Prepares and keeps the images that disks are made from: for drivers, and for the operator's commands. */
export interface ImageStore {
  /**
   * How far an image is; starts preparing it when it is not there. Many callers share one preparation. A failure is
   * reported for half a minute, then a further call tries again.
   */
  ensure(image: ImageSpec): Promise<ImageState>

  /** How far an image is. Starts nothing. */
  state(image: ImageSpec): Promise<ImageState>

  /** The image when it is there, whole; else null. */
  ready(image: ImageSpec): Promise<StoredImage | null>

  /**
   * Prepares an image and waits for it. The signal ends the waiting, not the work: `close` does that.
   * @throws ImageError when no source works
   */
  wait(image: ImageSpec, onProgress?: OnProgress, signal?: AbortSignal): Promise<StoredImage>

  /** All images that are here. */
  list(): Promise<StoredImage[]>

  /** Stops all work. Downloads go on from here next time. */
  close(): Promise<void>
}

export type Preparing = Extract<ImageState, { state: 'preparing' }>
export type OnProgress = (state: Preparing) => void
