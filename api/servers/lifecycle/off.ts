import { again, next, type Step } from '../../operations/procedure.ts'
import { BOOT_MS, type BootData, type OffData } from '../operations.ts'
import type { ServerTable } from '../tables.ts'
import type { ProcedureOptions } from './spec.ts'

const ASK_MS = 250
const DEFAULT_TIMEOUT_SECONDS = 60

type OffSteps = Record<'shutdown' | 'wait_off' | 'power_off', Step<OffData, ServerTable>> & {
  reset: Step<BootData, ServerTable>
}

/** Steps that turn a machine off, or reset it, for stop and reboot. Each continues at its own step `off`. */
export function offSteps({ clock, drivers }: ProcedureOptions): OffSteps {
  const shutdown: Step<OffData, ServerTable> = async (operation, _signal, { pool }) => {
    const driver = drivers.at(pool)
    const { power } = await driver.inspect(operation.subject_id)
    if (power !== 'running') return next('power_off', 50)
    await driver.shutdown(operation.subject_id)
    const { timeout_seconds = DEFAULT_TIMEOUT_SECONDS } = operation.data
    return next('wait_off', 10, { off_by: clock.now() + timeout_seconds * 1000 })
  }

  const waitOff: Step<OffData, ServerTable> = async (operation, _signal, { pool }) => {
    const driver = drivers.at(pool)
    const { power } = await driver.inspect(operation.subject_id)
    const isLate = clock.now() >= (operation.data.off_by ?? 0)
    return power !== 'running' || isLate ? next('power_off', 50) : again(ASK_MS)
  }

  const powerOff: Step<OffData, ServerTable> = async (operation, _signal, { pool }) => {
    const driver = drivers.at(pool)
    await driver.powerOff(operation.subject_id)
    return next('off', 55)
  }

  const reset: Step<BootData, ServerTable> = async (operation, _signal, { pool }) => {
    const driver = drivers.at(pool)
    const { power } = await driver.inspect(operation.subject_id)
    if (power !== 'running') return next('power_off', 50)
    await driver.reset(operation.subject_id)
    return next('ready', 60, { ready_by: clock.now() + BOOT_MS })
  }
  return { shutdown, wait_off: waitOff, power_off: powerOff, reset }
}
