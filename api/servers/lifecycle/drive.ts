import { DriverError } from '../../drivers/driver.ts'
import { again, done, fail, type Runner, runner, type Step } from '../../operations/procedure.ts'
import type { OperationTable } from '../../operations/tables.ts'
import type { DriveData, driveTypes } from '../operations.ts'
import { getServer, lockServer, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import { settleIso } from './iso.ts'
import type { ProcedureOptions } from './spec.ts'

const HOST_MS = 5_000

/** The procedures that change the ISO in the drive of a server. */
export function driveProcedures(options: ProcedureOptions): Record<(typeof driveTypes)[number], Runner> {
  const { db, clock } = options
  const change = runner<DriveData, ServerTable>({
    steps: { change: changeStep(options) },
    read: ({ subject_id }: OperationTable) => getServer(db, subject_id),
    // Each start sets the drive as the row says, so a failure leaves nothing to repair.
    conclude: async ({ subject_id, data }, outcome, { iso_id }) => {
      const now = clock.now()
      return async (tx) => {
        const server = await lockServer(tx, subject_id)
        if (outcome.status === 'succeeded' || server?.iso_id !== iso_id) return
        await updateServer(tx, server, { iso_id: data.before, updated_at: now })
      }
    },
  })
  return { insert_iso: change, eject_iso: change }
}

function changeStep(options: ProcedureOptions): Step<DriveData, ServerTable> {
  const { drivers, log } = options
  return async (operation, _signal, server) => {
    const driver = drivers.at(server.pool)
    try {
      // A machine that does not exist yet gets the ISO at its first start.
      const { power } = await driver.inspect(server.server_id)
      const wait =
        power === 'absent' ? null : await settleIso(options, operation, driver, server, 'Upload it again.')
      return wait ?? done()
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      if (error.code === 'unsupported')
        return fail(
          'not_supported',
          'The server has no drive while it runs. Stop it, insert the ISO, and start it again.',
        )
      if (error.code !== 'unavailable') throw error
      log.warn({ err: error, operation_id: operation.operation_id }, 'a host does not answer; waiting for it')
      return again(HOST_MS)
    }
  }
}
