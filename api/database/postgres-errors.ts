/** The connection to the database was lost, or none was available. Earlier writes may have been committed. */
export class Unreachable extends Error {
  /** PostgreSQL's connection_failure. */
  readonly code = '08006'
}

/** The last change of a transaction found no row, so the whole transaction was rolled back. */
export class Unchanged extends Error {}

/** pg has no codes for the errors that it raises itself. */
const WITHOUT_CODE =
  /Connection terminated|timeout expired|timeout exceeded when trying to connect|Query read timeout|not queryable|connection error|Client was closed/
/** The system's codes, such as ECONNRESET. */
const OF_SYSTEM = /^E[A-Z]/
/** Errors after which a connection is unusable: it is lost, or the server ends it. */
const LOST = /^(08|57P0|25P03)/

/** The error's code; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** True if an error means that the connection is lost, or could not be opened. */
export function isLost(error: unknown): boolean {
  return LOST.test(codeOf(error))
}

/** Turns errors of pg and the system into Unreachable. */
export function explained(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = codeOf(error)
  const isOurs = code === '' ? WITHOUT_CODE.test(error.message) : OF_SYSTEM.test(code)
  return isOurs ? new Unreachable(error.message || code, { cause: error }) : error
}
