import { DriverError } from '../../drivers/driver.ts'
import { leave, type NetworkOperation, STEP } from '../../networks/attachments.ts'
import { done, fail, type Procedure, type Runner, runner, type Step } from '../../operations/procedure.ts'
import type { OperationTable } from '../../operations/tables.ts'
import { serverRows } from '../rows.ts'
import { getServer, lockServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import type { ProcedureOptions } from './spec.ts'

/** Procedures that attach servers to private networks and detach them: their driver gets the current list. */
export function networkProcedures(options: ProcedureOptions): Record<NetworkOperation, Runner> {
  const read = (operation: OperationTable) => getServer(options.db, serverOf(operation))
  return {
    attach_network: runner({
      steps: { [STEP]: attachStep(options) },
      read,
      conclude: attachConcluder(options),
    }),
    detach_network: runner({
      steps: { [STEP]: detachStep(options) },
      read,
      conclude: async () => async () => {},
    }),
  }
}

/** These operations always have a server. */
const serverOf = ({ server_id }: { server_id: string | null }) => server_id ?? ''

function attachStep({ connectivity }: ProcedureOptions): Step<object, ServerTable> {
  return async (_operation, _signal, server) => {
    if (server.deleted_at !== null) return fail('server_deleted', 'The server was deleted meanwhile.')
    try {
      await connectivity.tell(server)
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
function attachConcluder({ clock }: ProcedureOptions): Procedure<object, ServerTable>['conclude'] {
  return async (operation, outcome) => async (tx) => {
    if (outcome.status === 'succeeded') return
    const server = await lockServer(tx, serverOf(operation))
    if (server) await leave(tx, serverRows, server, operation.subject_id, clock.now())
  }
}

function detachStep({ connectivity }: ProcedureOptions): Step<object, ServerTable> {
  return async (_operation, _signal, server) => {
    await connectivity.tell(server).catch(ifUnsupported)
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
