import { DriverError, type DriverErrorCode } from '../drivers/driver.ts'
import { fail, type StepResult } from './procedure.ts'

/** Errors of drivers whose messages are written for customers. All other messages are only logged. */
const TOLD: readonly DriverErrorCode[] = ['image_unusable', 'image_not_ready', 'port_taken', 'disk_full']

/** Returns the failure of an operation whose step failed for the last time, with a message that a customer may read. */
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
