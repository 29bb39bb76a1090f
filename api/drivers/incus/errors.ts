import { DriverError, type DriverErrorCode } from '../driver.ts'

/** The meaning of a refusal, for all products, versions and forms of errors. */
export type Refusal =
  | 'missing'
  | 'exists'
  | 'changed'
  | 'busy'
  | 'running'
  | 'stopped'
  | 'port_taken'
  | 'in_use'
  | 'disk_full'
  | 'too_small'
  | 'no_member'
  | 'offline'
  | 'other'

/** Matches by text, because the same failure may have the status 400, 500, or none within operations. */
const TEXTS: readonly [RegExp, Refusal][] = [
  [/already exists|UNIQUE constraint/i, 'exists'],
  [/address already in use/i, 'port_taken'],
  [/currently in use|that is in use|still in use/i, 'in_use'],
  // The compressor of an export closes its pipe when the disk is full.
  [/no space left|quota exceeded|read\/write on closed pipe/i, 'disk_full'],
  [/(image|volume) size|exceeds specified/i, 'too_small'],
  [/no suitable cluster member|couldn't find a cluster member|cluster member is evacuated/i, 'no_member'],
  [/already running/i, 'running'],
  [/already stopped|is not running|isn't running/i, 'stopped'],
  [/busy running|operation.*in progress/i, 'busy'],
  [
    /missing event connection|not fully created|not in pending state|unable to connect|connection refused|server isn't ready|is (offline|down)|shutting down|daemon.*(starting|not yet)|no route to host|context deadline|failed to connect|database is locked|no available (cowsql|dqlite)|leader|begin transaction|bad connection|\bEOF\b|checkpoint in progress/i,
    'offline',
  ],
  [/not found/i, 'missing'],
]

const STATUSES: Readonly<Record<number, Refusal>> = {
  404: 'missing',
  409: 'exists',
  412: 'changed',
  503: 'offline',
}

/** A call that the cluster refused, or that did not reach it. */
export class IncusError extends Error {
  override readonly name = 'IncusError'
  readonly refusal: Refusal

  /** @param status of the reply or of the operation; 0: there is none */
  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.refusal =
      STATUSES[status] ??
      TEXTS.find(([pattern]) => pattern.test(message))?.[1] ??
      (status === 0 ? 'offline' : 'other')
  }
}

const CODES: Readonly<Partial<Record<Refusal, DriverErrorCode>>> = {
  missing: 'not_found',
  port_taken: 'port_taken',
  disk_full: 'disk_full',
  too_small: 'image_unusable',
  other: 'start_failed',
}

/** True if the same call may succeed next time. */
export function isPassing(error: unknown): boolean {
  return error instanceof IncusError && CODES[error.refusal] === undefined
}

/** Converts an error for the callers of drivers. */
export function toDriverError(error: unknown): unknown {
  if (!(error instanceof IncusError)) return error
  const code = CODES[error.refusal] ?? 'unavailable'
  return new DriverError(code, messages[code] ?? error.message, { cause: error })
}

/** Messages of the codes that customers read. */
const messages: Readonly<Partial<Record<DriverErrorCode, string>>> = {
  port_taken: 'Another program uses the port.',
  disk_full: 'The disk of the host is full.',
  image_unusable: 'The image is larger than the disk of the server.',
}

/** Ignores a refusal because the wanted state exists already. */
export function unless(...fine: readonly Refusal[]): (error: unknown) => null {
  return (error) => {
    if (error instanceof IncusError && fine.includes(error.refusal)) return null
    throw error
  }
}
