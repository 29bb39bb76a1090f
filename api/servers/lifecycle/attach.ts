import { DriverError } from '../../drivers/driver.ts'
import { leave, type NetworkOperation, STEP } from '../../networks/attachments.ts'
import { done, fail, type Procedure, type Runner, runner, type Step } from '../../operations/procedure.ts'
import { serverRows } from '../rows.ts'
import { getServer, lockServer } from '../store.ts'
import type { ProcedureOptions } from './spec.ts'

/** Procedures that attach servers to private networks and detach them: their driver gets the current list. */
export function networkProcedures(options: ProcedureOptions): Record<NetworkOperation, Runner> {
  return {
    attach_network: runner({ steps: { [STEP]: attachStep(options) }, conclude: attachConcluder(options) }),
    detach_network: runner({ steps: { [STEP]: detachStep(options) }, conclude: async () => async () => {} }),
  }
}

/** These operations always have a server. */
const serverOf = ({ server_id }: { server_id: string | null }) => server_id ?? ''

function attachStep({ db, connectivity }: ProcedureOptions): Step<object> {
  return async (operation) => {
    const server = await getServer(db, serverOf(operation))
    if (server.deleted_at !== null) return fail('server_deleted', 'The server was deleted meanwhile.')
    try {
      await connectivity.tell(server.server_id)
    } catch (error) {
      if (!isUnsupported(error)) throw error
      return fail(
        'not_supported',
        'The server cannot get cards in private networks while it runs. Stop it, attach it, and start it again; if that fails too, create a new server.',
      )
    }
    return done()
  }
}

/** A server that could not be attached is removed from the network, which frees its address. */
function attachConcluder({ clock }: ProcedureOptions): Procedure<object>['conclude'] {
  return async (operation, outcome) => async (tx) => {
    if (outcome.status === 'succeeded') return
    const server = await lockServer(tx, serverOf(operation))
    if (server) await leave(tx, serverRows, server, operation.subject_id, clock.now())
  }
}

function detachStep({ connectivity }: ProcedureOptions): Step<object> {
  return async (operation) => {
    await connectivity.tell(serverOf(operation)).catch(ifUnsupported)
    return done()
  }
}

/** Ignores that a machine cannot have its network cards, and rethrows any other error. */
export function ifUnsupported(error: unknown): void {
  if (!isUnsupported(error)) throw error
}

/** True if a driver refused because its machine or its host lacks the feature. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof DriverError && error.code === 'unsupported'
}
