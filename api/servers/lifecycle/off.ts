import { again, next, type Step } from '../../operations/engine.ts'
import { BOOT_MS } from './boot.ts'
import { driverOf, type ProcedureOptions } from './spec.ts'

const ASK_MS = 250
const DEFAULT_TIMEOUT_SECONDS = 60

/** From running to off, or through a reset: stop and reboot walk this way. Both go on at their own step `off`. */
export function offSteps(
  options: ProcedureOptions,
): Record<'shutdown' | 'wait_off' | 'power_off' | 'reset', Step> {
  const { clock } = options

  const shutdown: Step = async (operation) => {
    const driver = await driverOf(options, operation.server_id)
    const { power } = await driver.inspect(operation.server_id)
    if (power !== 'running') return next('power_off', 50)
    await driver.shutdown(operation.server_id)
    const seconds = Number(operation.data.timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS)
    return next('wait_off', 10, { off_by: clock.now() + seconds * 1000 })
  }

  const waitOff: Step = async (operation) => {
    const driver = await driverOf(options, operation.server_id)
    const { power } = await driver.inspect(operation.server_id)
    const isLate = clock.now() >= Number(operation.data.off_by)
    return power !== 'running' || isLate ? next('power_off', 50) : again(ASK_MS)
  }

  const powerOff: Step = async (operation) => {
    const driver = await driverOf(options, operation.server_id)
    await driver.powerOff(operation.server_id)
    return next('off', 55)
  }

  const reset: Step = async (operation) => {
    const driver = await driverOf(options, operation.server_id)
    const { power } = await driver.inspect(operation.server_id)
    if (power !== 'running') return next('power_off', 50)
    await driver.reset(operation.server_id)
    return next('ready', 60, { ready_by: clock.now() + BOOT_MS })
  }
  return { shutdown, wait_off: waitOff, power_off: powerOff, reset }
}
