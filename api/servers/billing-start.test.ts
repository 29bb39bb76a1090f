import { expect, test } from 'vitest'
import type { Outcome } from '../operations/procedure.ts'
import { billingStart } from './billing-start.ts'
import type { ServerOperation } from './operations.ts'
import { BOOT_MS } from './operations.ts'

const NOW = 1_000_000_000
const POWER_ON = NOW - 299_000
const succeeded: Outcome = { status: 'succeeded' }
const failed = (code: string): Outcome => ({ status: 'failed', code, message: '' })

interface Row {
  type: ServerOperation
  outcome: Outcome
  /** Whether the operation turned the machine on, and whether it is on at its end. */
  powered?: boolean
  isOn?: boolean
  from: number | null
}

const rows: Row[] = [
  { type: 'create', outcome: succeeded, powered: true, isOn: true, from: POWER_ON },
  { type: 'create', outcome: succeeded, from: NOW },
  { type: 'create', outcome: failed('boot_timeout'), powered: true, isOn: true, from: POWER_ON },
  { type: 'create', outcome: failed('boot_failed'), powered: true, from: POWER_ON },
  { type: 'create', outcome: failed('internal_error'), powered: true, isOn: true, from: POWER_ON },
  { type: 'create', outcome: failed('operation_timeout'), powered: true, from: POWER_ON },
  { type: 'create', outcome: failed('image_unavailable'), from: null },
  { type: 'create', outcome: failed('disk_full'), from: null },
  { type: 'create', outcome: failed('start_failed'), from: null },
  { type: 'create', outcome: failed('internal_error'), from: null },
  { type: 'create', outcome: failed('operation_timeout'), from: null },
  { type: 'create', outcome: failed('start_failed'), isOn: true, from: NOW },
  { type: 'start', outcome: succeeded, powered: true, isOn: true, from: POWER_ON },
  { type: 'start', outcome: failed('boot_failed'), powered: true, from: POWER_ON },
  { type: 'start', outcome: failed('start_failed'), from: null },
  { type: 'reboot', outcome: failed('boot_timeout'), powered: true, isOn: true, from: POWER_ON },
  { type: 'stop', outcome: succeeded, from: null },
  { type: 'stop', outcome: failed('internal_error'), isOn: true, from: NOW },
  { type: 'resize', outcome: succeeded, from: NOW },
  { type: 'resize', outcome: failed('disk_full'), from: null },
]

test.each(rows)('$type, $outcome.code, powered: $powered, is on: $isOn', (row) => {
  const data = row.powered ? { ready_by: POWER_ON + BOOT_MS } : {}
  expect(billingStart({ type: row.type, data }, row.outcome, row.isOn ?? false, NOW)).toBe(row.from)
})
