import { DriverError } from '../../drivers/driver.ts'
import { again, done, fail, type Procedure, type Step, type StepResult } from '../../operations/procedure.ts'
import type { PasswordData } from '../operations.ts'
import { lockServer, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import { machineSpec, type ProcedureOptions } from './spec.ts'

/** The time for which the guest's agent is tried: it starts after SSH. */
const PATIENCE_MS = 60_000
const ASK_AGAIN_MS = 2_000

export function passwordStep(options: ProcedureOptions): Step<PasswordData, ServerTable> {
  const { clock, drivers, secrets, log } = options
  return async ({ data, operation_id, created_at }, _signal, server) => {
    const { username } = machineSpec(options, server, operation_id)
    try {
      await drivers
        .at(server.pool)
        .setPassword(server.server_id, { username, password: secrets.open(data.password) })
      return done()
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      if (error.code === 'unavailable' && clock.now() < created_at + PATIENCE_MS) return again(ASK_AGAIN_MS)
      log.warn({ err: error, operation_id }, 'a guest did not take a new password')
      return refusal(error)
    }
  }
}

function refusal({ code }: DriverError): StepResult<never> {
  if (code === 'not_found')
    return fail('server_off', 'The server turned off meanwhile. Start it, then try again.')
  if (code === 'unsupported')
    return fail(
      'not_supported',
      'An earlier version of the service started this server, without a channel to its agent. Stop it and start it, then try again.',
    )
  return fail(
    'agent_unavailable',
    'The server did not take the new password. Check that the package qemu-guest-agent is installed and runs in it, then try again.',
  )
}

/** The reconciler finds a server whose machine turned off meanwhile. */
export function passwordConcluder({
  clock,
}: ProcedureOptions): Procedure<PasswordData, ServerTable>['conclude'] {
  return async ({ data, subject_id }, { status }) =>
    async (tx) => {
      const server = await lockServer(tx, subject_id)
      if (!server) return
      const login = status === 'succeeded' ? { password: data.password } : {}
      await updateServer(tx, server, { ...login, status: 'running', updated_at: clock.now() })
    }
}
