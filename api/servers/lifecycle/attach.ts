import { DriverError } from '../../drivers/driver.ts'
import { leave, type NetworkOperation, STEP } from '../../networks/attachments.ts'
import { cardsOf, macOf } from '../../networks/memberships.ts'
import {
  again,
  done,
  fail,
  next,
  type Procedure,
  type Runner,
  runner,
  type Step,
} from '../../operations/procedure.ts'
import type { OperationTable } from '../../operations/tables.ts'
import { serverRows } from '../rows.ts'
import { getServer, lockServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import type { ProcedureOptions } from './spec.ts'

const ADDRESS_AT = 50
/** The time for which setting the address is tried: a guest needs some seconds to find a new card. */
const PATIENCE_MS = 20_000
const ASK_AGAIN_MS = 1_000

/** Procedures that attach servers to private networks and detach them: their driver gets the current list. */
export function networkProcedures(options: ProcedureOptions): Record<NetworkOperation, Runner> {
  const read = (operation: OperationTable) => getServer(options.db, serverOf(operation))
  return {
    attach_network: runner({
      steps: { [STEP]: attachStep(options), address: addressStep(options) },
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
    return server.status === 'running' ? next('address', ADDRESS_AT) : done()
  }
}

/** Sets the address in a running guest, if its agent does so soon; otherwise the guest takes it when it boots. */
function addressStep({ clock, drivers, log }: ProcedureOptions): Step<object, ServerTable> {
  return async ({ subject_id, operation_id, created_at }, _signal, server) => {
    const mac = macOf(server.server_id, subject_id)
    const card = cardsOf(server).find((one) => one.mac === mac)
    try {
      if (card) await drivers.at(server.pool).setAddress(server.server_id, card)
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      if (error.code === 'unavailable' && clock.now() < created_at + PATIENCE_MS) return again(ASK_AGAIN_MS)
      log.info({ err: error, operation_id }, 'a guest did not set the address of a card')
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
