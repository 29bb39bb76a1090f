import { countInProject } from '../../accounts/projects.ts'
import { changeRate } from '../../billing/rates.ts'
import type { Queries } from '../../database/database.ts'
import { DriverError, type MachineState } from '../../drivers/driver.ts'
import { removeFirewalls } from '../../firewalls/protection.ts'
import { membershipsOf } from '../../networks/memberships.ts'
import { leaveNetworks } from '../../networks/networks.ts'
import { subjectIsGone } from '../../operations/operations.ts'
import {
  again,
  done,
  next,
  type Operation,
  type Outcome,
  type Procedure,
  type Runner,
  runner,
  type Step,
} from '../../operations/procedure.ts'
import { withdrawPorts } from '../../ports/ports.ts'
import { billingStart } from '../billing-start.ts'
import {
  type BootData,
  type OffData,
  type ResizeData,
  type ServerOperation,
  type ServerOperations,
  serverSubject,
} from '../operations.ts'
import { planColumns } from '../plan-columns.ts'
import { billedServer } from '../queries.ts'
import { release } from '../reservation.ts'
import { SUSPENDED } from '../states.ts'
import { getServer, updateServer } from '../store.ts'
import { becomeSuspended } from '../suspension.ts'
import type { ServerStatus, ServerTable } from '../tables.ts'
import { bootSteps } from './boot.ts'
import { offSteps } from './off.ts'
import { driverOf, machineSpec, type ProcedureOptions } from './spec.ts'

/** The procedure of each type of operation. */
export function serverProcedures(options: ProcedureOptions): Record<ServerOperation, Runner> {
  const boot = bootSteps(options)
  const { reset, ...off } = offSteps(options)
  const conclude = concluder(options)
  const isOff = async () => done()
  return {
    create: runner<ServerOperations['create']>({ steps: patient(boot, options), conclude }),
    start: runner<ServerOperations['start']>({ steps: boot, conclude }),
    stop: runner<ServerOperations['stop']>({ steps: { ...off, off: isOff }, conclude }),
    // A reboot continues at `image`, like a start: a server in `error` may have no machine yet.
    reboot: runner<ServerOperations['reboot']>({
      steps: { ...boot, ...off, reset, off: async () => next('image', 55) },
      conclude,
    }),
    resize: runner<ServerOperations['resize']>({
      steps: { define: resizeStep(options) },
      conclude: resizeConcluder(options),
    }),
    delete: runner<ServerOperations['delete']>({
      steps: patient({ destroy: destroyStep(options) }, options),
      conclude: removeConcluder(options),
    }),
  }
}

/** The pause before the next call to a host that did not answer. */
const HOST_MS = 5_000

/** Makes steps of create and delete wait for a host that does not answer, rather than fail. */
function patient<Name extends string, Data>(
  steps: Record<Name, Step<Data>>,
  { log }: ProcedureOptions,
): Record<Name, Step<Data>> {
  const wait =
    (step: Step<Data>): Step<Data> =>
    async (operation, signal) => {
      try {
        return await step(operation, signal)
      } catch (error) {
        if (!(error instanceof DriverError && error.code === 'unavailable')) throw error
        const { operation_id } = operation
        log.warn({ err: error, operation_id, step: operation.step }, 'a host does not answer; waiting for it')
        return again(HOST_MS)
      }
    }
  const entries = Object.entries<Step<Data>>(steps).map(([name, step]) => [name, wait(step)])
  return Object.fromEntries(entries) as Record<Name, Step<Data>> // the same names
}

type PowerData = BootData & OffData
type PowerOperation = 'create' | 'start' | 'stop' | 'reboot'

/**
 * Ends an operation on a machine: on success the status follows from the type, otherwise from the state of the machine.
 */
function concluder({ db, clock, drivers }: ProcedureOptions): Procedure<PowerData>['conclude'] {
  return async (operation, outcome) => {
    const server = await getServer(db, operation.subject_id)
    const now = clock.now()
    const type = operation.type as PowerOperation // those that serverProcedures gives this conclusion
    const isOn =
      outcome.status === 'succeeded'
        ? operation.type !== 'stop' && operation.data.start_on_create !== false
        : isStillOn(type, await drivers.at(server.pool).inspect(server.server_id))
    const billedFrom = billingStart({ type, data: operation.data }, outcome, isOn, now)
    const hostKeys = operation.data.host_keys
    const change: Partial<ServerTable> = {
      status: isOn ? 'running' : restStatus(operation, outcome),
      status_reason: outcome.status === 'failed' ? outcome.code : null,
      started_at: isOn ? startTime(operation, server, now) : null,
      billed_since: server.billed_since ?? billedFrom,
      ...(hostKeys === undefined ? {} : { host_keys: JSON.stringify(hostKeys) }),
      updated_at: now,
    }
    const { suspend } = operation.data
    return async (tx) => {
      if (outcome.status === 'succeeded' && suspend)
        return becomeSuspended(tx, server, { from: suspend, reason: server.status_reason ?? SUSPENDED, now })
      await updateServer(tx, server.server_id, change)
      if (server.billed_since === null && billedFrom !== null)
        await changeRate(tx, billedServer(server), server, billedFrom)
    }
  }
}

/** True if a machine is on after an operation that failed. One that was on and cannot be asked counts as on. */
function isStillOn(type: PowerOperation, { power }: MachineState): boolean {
  return power === 'running' || (power === 'away' && (type === 'stop' || type === 'reboot'))
}

/** The status of a server whose machine is off after an operation. */
function restStatus(operation: Operation<PowerData>, outcome: Outcome): ServerStatus {
  return operation.type === 'create' && outcome.status === 'failed' ? 'error' : 'stopped'
}

/** A stop that failed leaves the machine as it was: running since then. */
function startTime(operation: Operation<PowerData>, server: ServerTable, now: number): number {
  return operation.type === 'stop' ? (server.started_at ?? now) : now
}

function resizeStep(options: ProcedureOptions): Step<ResizeData> {
  const { db, drivers } = options
  return async (operation) => {
    const { plan } = operation.data
    const server = await getServer(db, operation.subject_id)
    // A server that never had a machine gets the new size when its first one is created.
    if (server.has_disk)
      await drivers.at(server.pool).define(machineSpec(options, { ...server, ...plan.size }))
    return done()
  }
}

function resizeConcluder({ db, clock }: ProcedureOptions): Procedure<ResizeData>['conclude'] {
  return async (operation, outcome) => {
    const { plan, growth } = operation.data
    const server = await getServer(db, operation.subject_id)
    const now = clock.now()
    const rest = { status: 'stopped' as const, updated_at: now }
    const ordered = planColumns(plan)
    return async (tx: Queries) => {
      if (outcome.status === 'failed') {
        await updateServer(tx, server.server_id, { ...rest, status_reason: outcome.code })
        await release(tx, server, growth, 0)
        return
      }
      await updateServer(tx, server.server_id, {
        ...rest,
        status_reason: null,
        ...ordered,
        priced_at: operation.created_at,
        billed_since: server.billed_since ?? billingStart({ type: 'resize', data: {} }, outcome, false, now),
      })
      await changeRate(tx, billedServer(server), ordered, now)
    }
  }
}

function destroyStep(options: ProcedureOptions): Step<object> {
  return async (operation) => {
    const driver = await driverOf(options, operation.subject_id)
    await driver.destroy(operation.subject_id)
    const { power } = await driver.inspect(operation.subject_id)
    return power === 'absent' ? done() : again(500)
  }
}

/** Once the machine is gone, releases everything that the server held, and its secrets. */
function removeConcluder({ db, clock }: ProcedureOptions): Procedure<object>['conclude'] {
  return async (operation, outcome) => {
    const server = await getServer(db, operation.subject_id)
    const now = clock.now()
    return async (tx: Queries) => {
      if (outcome.status === 'failed') {
        await updateServer(tx, server.server_id, {
          status: 'error',
          status_reason: outcome.code,
          // Billing ended with the request, and begins anew if the customer starts it again.
          billed_since: null,
          delete_at: null,
          updated_at: now,
        })
        return
      }
      const gone = { deleted_at: now, updated_at: now, started_at: null }
      await updateServer(tx, server.server_id, {
        ...gone,
        ssh_port: null,
        number: null,
        networks: '[]',
        password: null,
        user_data: null,
        ssh_keys: '[]',
        host_keys: '[]',
        labels: '{}',
        description: null,
      })
      await withdrawPorts(tx, server.server_id)
      await release(tx, server, server, 1)
      // This runs once the account is locked, because otherwise one could be attached meanwhile.
      await removeFirewalls(tx, server.server_id)
      await countInProject(tx, server.account_id, server.project_id, -1)
      // Networks come last, in the lock order of new servers, to avoid deadlocks.
      const networks = membershipsOf(server).map(({ network_id }) => network_id)
      await leaveNetworks(tx, server.account_id, networks, server.server_id, now)
      await subjectIsGone(tx, serverSubject(server.server_id), now)
    }
  }
}
