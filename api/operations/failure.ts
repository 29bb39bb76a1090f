import { DriverError, type DriverErrorCode } from '../drivers/driver.ts'
import { fail, type StepResult } from './procedure.ts'

/** Errors of drivers whose sentences customers can use; what others say is in the log. */
const TOLD: readonly DriverErrorCode[] = ['image_unusable', 'image_not_ready', 'port_taken', 'disk_full']

/** The failure of an operation whose step failed for the last time: only our own errors have sentences for customers. */
export function failureOf(error: unknown): StepResult<never> {
  if (error instanceof DriverError)
    return fail(
      error.code,
      TOLD.includes(error.code)
        ? error.message
        : 'The host of the server could not carry it out. Try again; if it keeps failing, contact support with the id of the operation.',
    )
  return fail(
    'internal_error',
    'The operation failed because of an internal error. Contact support with the id of the operation.',
  )
}
