import type { Outcome } from '../operations/procedure.ts'
import { BOOT_MS, type BootData, type ServerOperation } from './operations.ts'

/** The time at which an operation turned the machine on (milliseconds); null if it did not. */
export function bootTime({ ready_by }: BootData): number | null {
  return ready_by === undefined ? null : ready_by - BOOT_MS
}

/**
 * Returns the time from which a server is billed after an operation: from power-on, even if its guest never answered,
 * otherwise from the success of its create. A create that failed before power-on was our fault, and is free.
 * @param isOn true if the machine is on at the end of the operation
 * @returns null if it still costs nothing
 */
export function billingStart(
  { type, data }: { type: ServerOperation; data: BootData },
  outcome: Outcome,
  isOn: boolean,
  now: number,
): number | null {
  const hasReserved = outcome.status === 'succeeded' && (type === 'create' || type === 'resize')
  return bootTime(data) ?? (isOn || hasReserved ? now : null)
}
