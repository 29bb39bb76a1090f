import { BerthError, ConnectionError, TimeoutError } from './errors.ts'
import type { CallOptions, Settings } from './request.ts'
import { pauseMs } from './retries.ts'

export interface UploadOptions {
  /** Ends the upload, which a later call continues. */
  signal?: AbortSignal | undefined
  /** Called when a part has arrived, and at the beginning. */
  onProgress?: ((uploadedBytes: number, allBytes: number) => void) | undefined
}

interface Uploaded {
  uploaded_bytes: number
}

/** The calls for one image or ISO. */
interface FileCalls {
  get: (options: CallOptions) => Promise<Uploaded>
  send: (part: Blob, options: CallOptions & { uploadOffset: number }) => Promise<Uploaded>
}

const FIRST_PART = 2 ** 20
const LARGEST_PART = 16 * 2 ** 20
const SMALLEST_PART = 64 * 2 ** 10
/** Parts grow while they take less than this, so that a slow connection has small ones. */
const QUICK_MS = 4_000
/** The service waits half a minute for a part. */
const PART_MS = 40_000
/** More failures in a row than for other requests: much work would be lost. */
const MORE_TRIES = 5

/**
 * Uploads the file of an image or an ISO, from where an earlier upload ended. Interrupted connections are retried.
 * @throws BerthError, ConnectionError, TimeoutError; the signal's reason if it is aborted
 */
export async function upload(
  settings: Settings,
  { get, send }: FileCalls,
  file: Blob,
  { signal, onProgress }: UploadOptions = {},
): Promise<void> {
  const arrived = async () => (await get({ signal })).uploaded_bytes
  let offset = await arrived()
  let size = FIRST_PART
  let failures = 0
  onProgress?.(offset, file.size)
  while (offset < file.size) {
    const startedAt = performance.now()
    try {
      const body = file.slice(offset, offset + size)
      const options = { signal, uploadOffset: offset, timeoutMs: PART_MS }
      offset = (await send(body, options)).uploaded_bytes
      failures = 0
      if (performance.now() - startedAt < QUICK_MS) size = Math.min(size * 2, LARGEST_PART)
      onProgress?.(offset, file.size)
    } catch (error) {
      signal?.throwIfAborted()
      failures += 1
      if (!isPassing(error) || failures > settings.retries + MORE_TRIES) throw error
      size = Math.max(size / 4, SMALLEST_PART)
      await settings.sleep(pauseMs(failures, settings.random), signal)
      offset = await arrived()
    }
  }
}

/** True if the part may arrive the next time, or has arrived already. */
function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true
  if (!(error instanceof BerthError)) return false
  return error.status >= 500 || error.status === 408 || error.code === 'upload_offset'
}
