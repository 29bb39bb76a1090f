import type { Outcome } from '../operations/procedure.ts'
import { BOOT_MS, type BootData, type ServerOperation } from './operations.ts'

/** When an operation turned the machine on; null where it has not come so far. */
export function bootTime({ ready_by }: BootData): number | null {
  return ready_by === undefined ? null : ready_by - BOOT_MS
}

/**
 * From when a server that was not billed is, after an operation: from power-on, whether or not its guest ever
 * answered; else from the success of what reserved its place for the customer. A create that failed before power-on
 * failed for our reasons, and is free.
 * @param isOn whether the machine is on at the end of the operation
 * @returns null where it still costs nothing
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
