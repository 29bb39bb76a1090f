import { countInProject } from '../../accounts/projects.ts'
import { beginRate } from '../../billing/rates.ts'
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
import type { OperationTable } from '../../operations/tables.ts'
import { withdrawPorts } from '../../ports/ports.ts'
import { isAttaching, leaveVolumes } from '../../volumes/attachments.ts'
import { backupPriceIf, billBackups, billServer } from '../backup-pricing.ts'
import { billingStart, bootTime } from '../billing-start.ts'
import {
  type BootData,
  driveSubject,
  type OffData,
  type RebuildData,
  type RescueData,
  type ResizeData,
  type ServerOperation,
  type ServerOperations,
  type SnapshotData,
  serverSubject,
} from '../operations.ts'
import { planColumns } from '../plan-columns.ts'
import { billedServer } from '../queries.ts'
import { release } from '../room.ts'
import { SUSPENDED } from '../states.ts'
import { getServer, lockServer, updateServer } from '../store.ts'
import { becomeSuspended } from '../suspension.ts'
import type { ServerStatus, ServerTable } from '../tables.ts'
import { bootSteps } from './boot.ts'
import { backupConcluder, copyConcluder, copyStep } from './copy.ts'
import { offSteps } from './off.ts'
import { passwordConcluder, passwordStep } from './password.ts'
import { erased, eraseSteps, rescueSteps } from './rebuild.ts'
import { machineSpec, type ProcedureOptions } from './spec.ts'

/** The procedure of each type of operation. */
export function serverProcedures(options: ProcedureOptions): Record<ServerOperation, Runner> {
  const boot = bootSteps(options)
  const { make, boot: turnOn, ready } = boot
  const { reset, ...off } = offSteps(options)
  const { prepare, enter, leave } = rescueSteps(options)
  const power = { conclude: concluder(options), sharesEnds: true }
  const anew = patient<string, RebuildData>({ ...eraseSteps(options), make, boot: turnOn, ready }, options)
  const isOff = async () => done()
  const read = (operation: OperationTable) => getServer(options.db, operation.subject_id)
  const copy = { steps: patient({ copy: copyStep(options) }, options), read }
  return {
    create: runner<ServerOperations['create'], ServerTable>({
      ...power,
      steps: patient(boot, options),
      read,
    }),
    start: runner<ServerOperations['start'], ServerTable>({ ...power, steps: boot, read }),
    stop: runner<ServerOperations['stop'], ServerTable>({ ...power, steps: { ...off, off: isOff }, read }),
    // A reboot continues at `image`, like a start: a server in `error` may have no machine yet.
    reboot: runner<ServerOperations['reboot'], ServerTable>({
      ...power,
      steps: { ...boot, ...off, reset, off: async () => next('image', 55) },
      read,
    }),
    resize: runner<ServerOperations['resize'], ServerTable>({
      steps: { define: resizeStep(options), ...patient({ grow: growStep(options) }, options) },
      read,
      conclude: resizeConcluder(options),
    }),
    rebuild: runner<RebuildData, ServerTable>({ ...power, steps: anew, read }),
    restore: runner<RebuildData, ServerTable>({ ...power, steps: anew, read }),
    rescue: runner<RescueData, ServerTable>({
      ...power,
      steps: { prepare, ...off, off: enter, boot: turnOn, ready },
      read,
    }),
    unrescue: runner<ServerOperations['unrescue'], ServerTable>({
      ...power,
      steps: { ...off, off: leave, boot: turnOn, ready },
      read,
    }),
    snapshot: runner<SnapshotData, ServerTable>({ ...copy, conclude: copyConcluder(options) }),
    backup: runner<SnapshotData, ServerTable>({ ...copy, conclude: backupConcluder(options) }),
    reset_password: runner<ServerOperations['reset_password'], ServerTable>({
      steps: { set: passwordStep(options) },
      read,
      conclude: passwordConcluder(options),
    }),
    delete: runner<ServerOperations['delete'], ServerTable>({
      steps: { destroy: destroyStep(options) },
      read,
      // The machine may be erased already without the host's confirmation, so the server is of no use.
      endsDone: true,
      conclude: removeConcluder(options),
    }),
  }
}

/** The pause before the next call to a host that did not answer. */
const HOST_MS = 5_000

/** Makes steps of create, rebuild, restore and snapshot wait for a host that does not answer, rather than fail. */
function patient<Name extends string, Data>(
  steps: Record<Name, Step<Data, ServerTable>>,
  { log }: ProcedureOptions,
): Record<Name, Step<Data, ServerTable>> {
  const wait =
    (step: Step<Data, ServerTable>): Step<Data, ServerTable> =>
    async (operation, signal, server) => {
      try {
        return await step(operation, signal, server)
      } catch (error) {
        if (!(error instanceof DriverError && error.code === 'unavailable')) throw error
        const { operation_id } = operation
        log.warn({ err: error, operation_id, step: operation.step }, 'a host does not answer; waiting for it')
        return again(HOST_MS)
      }
    }
  const entries = Object.entries<Step<Data, ServerTable>>(steps).map(([name, step]) => [name, wait(step)])
  return Object.fromEntries(entries) as Record<Name, Step<Data, ServerTable>> // the same names
}

type PowerData = BootData & OffData & Partial<RebuildData>
type PowerOperation = 'create' | 'start' | 'stop' | 'reboot' | 'rebuild' | 'restore' | 'rescue' | 'unrescue'

/**
 * Ends an operation on a machine: on success the status follows from the type, otherwise from the state of the machine.
 */
function concluder({ clock, drivers }: ProcedureOptions): Procedure<PowerData, ServerTable>['conclude'] {
  return async (operation, outcome, { server_id, pool, started_at }) => {
    const now = clock.now()
    const type = operation.type as PowerOperation // those that serverProcedures gives this conclusion
    const machine = outcome.status === 'succeeded' ? null : await drivers.at(pool).inspect(server_id)
    const isOn = machine
      ? isStillOn(type, machine, started_at !== null)
      : operation.type !== 'stop' && operation.data.start_on_create !== false
    const billedFrom = billingStart({ type, data: operation.data }, outcome, isOn, now)
    const { suspend, login, instance_id, host_keys, has_disk } = operation.data
    // A rebuild or restore may end between the removal of the old disk and the creation of the new one.
    const isErased = login !== undefined && !has_disk && machine?.power === 'absent'
    return writeToServer(server_id, async (tx, server) => {
      if (outcome.status === 'succeeded' && suspend)
        return becomeSuspended(tx, server, { from: suspend, reason: server.status_reason ?? SUSPENDED, now })
      await updateServer(tx, server, {
        ...(isErased ? erased(operation.operation_id, { login, instance_id }) : {}),
        status: isOn ? 'running' : isErased ? 'error' : restStatus(operation, outcome),
        status_reason: outcome.status === 'failed' ? outcome.code : null,
        started_at: isOn ? startTime(operation, server, now) : null,
        billed_since: server.billed_since ?? billedFrom,
        ...(has_disk || isOn ? { has_disk: 1 } : {}),
        ...(host_keys === undefined ? {} : { host_keys: JSON.stringify(host_keys) }),
        updated_at: now,
      })
      if (server.billed_since !== null || billedFrom === null) return
      await beginRate(tx, billedServer(server), server, billedFrom)
      await billBackups(tx, server, true, billedFrom)
    })
  }
}

/** Writes to a server whose row is locked, as it is then: requests may have changed it since the first step. */
function writeToServer(serverId: string, change: (tx: Queries, server: ServerTable) => Promise<void>) {
  return async (tx: Queries) => {
    const server = await lockServer(tx, serverId)
    if (server) await change(tx, server)
  }
}

/**
 * True if a machine is on after an operation that failed. A machine that was on and cannot be inspected
 * counts as on.
 */
function isStillOn(type: PowerOperation, { power }: MachineState, wasOn: boolean): boolean {
  const beganOn = type === 'stop' || type === 'reboot' || (type !== 'create' && type !== 'start' && wasOn)
  return power === 'running' || (power === 'away' && beganOn)
}

/** The status of a server whose machine is off after an operation. */
function restStatus(operation: Operation<PowerData>, outcome: Outcome): ServerStatus {
  return operation.type === 'create' && outcome.status === 'failed' ? 'error' : 'stopped'
}

/** An operation that failed before it turned the machine on leaves it as it was: running since then. */
function startTime({ data }: Operation<PowerData>, server: ServerTable, now: number): number {
  return bootTime(data) === null ? (server.started_at ?? now) : now
}

function resizeStep(options: ProcedureOptions): Step<ResizeData, ServerTable> {
  return async (operation, _signal, server) => {
    const { plan } = operation.data
    // A server that never had a machine gets the new size when its first one is created.
    if (server.has_disk)
      await options.drivers
        .at(server.pool)
        .define(machineSpec(options, { ...server, ...plan.size }, operation.operation_id))
    return done()
  }
}

/**
 * Grows the disk of a running server. A server that turned off meanwhile is resized like others that are off.
 */
function growStep({ drivers }: ProcedureOptions): Step<ResizeData, ServerTable> {
  return async ({ data }, _signal, { pool, server_id }) => {
    try {
      await drivers.at(pool).growDisk(server_id, data.plan.size.disk_gb)
      return done()
    } catch (error) {
      if (error instanceof DriverError && error.code === 'not_found') return next('define', 50)
      throw error
    }
  }
}

function resizeConcluder({
  clock,
  catalog,
}: ProcedureOptions): Procedure<ResizeData, ServerTable>['conclude'] {
  return async (operation, outcome, { server_id }) => {
    const { plan, growth, isLive = false } = operation.data
    const now = clock.now()
    const ordered = planColumns(plan)
    return writeToServer(server_id, async (tx, server) => {
      const off = {
        status: 'stopped' as const,
        status_reason: outcome.status === 'failed' ? outcome.code : null,
      }
      // The reconciler finds a machine that turned off meanwhile.
      const rest = { ...(isLive ? { status: 'running' as const } : off), updated_at: now }
      if (outcome.status === 'failed') {
        await updateServer(tx, server, rest)
        await release(tx, server, growth, 0)
        return
      }
      const backups = backupPriceIf(catalog, server, plan.priceMonth, operation.created_at)
      await updateServer(tx, server, {
        ...rest,
        ...ordered,
        ...backups,
        priced_at: operation.created_at,
        billed_since: server.billed_since ?? billingStart({ type: 'resize', data: {} }, outcome, false, now),
      })
      await billServer(tx, { ...server, ...ordered, ...backups }, true, now)
    })
  }
}

function destroyStep({ db, drivers }: ProcedureOptions): Step<object, ServerTable> {
  return async (_operation, _signal, { server_id, pool }) => {
    // Otherwise a volume could be attached to a machine that is gone.
    if (await isAttaching(db, server_id)) return again(500)
    const driver = drivers.at(pool)
    await driver.destroy(server_id)
    const { power } = await driver.inspect(server_id)
    return power === 'absent' ? done() : again(HOST_MS)
  }
}

/** Once the machine is gone, releases everything that the server held, and its secrets. */
function removeConcluder({ clock }: ProcedureOptions): Procedure<object, ServerTable>['conclude'] {
  return async (_operation, _outcome, { server_id }) => {
    const now = clock.now()
    return writeToServer(server_id, async (tx, server) => {
      const gone = { deleted_at: now, updated_at: now, started_at: null }
      await updateServer(tx, server, {
        ...gone,
        ssh_port: null,
        iso_id: null,
        number: null,
        networks: '[]',
        password: null,
        rescue_login: null,
        user_data: null,
        ssh_keys: '[]',
        host_keys: '[]',
        labels: '{}',
        description: null,
      })
      await withdrawPorts(tx, server.server_id, now)
      await release(tx, server, server, 1)
      // The account is locked by now: otherwise a firewall could be attached meanwhile.
      await removeFirewalls(tx, server.server_id)
      await countInProject(tx, server.account_id, server.project_id, -1)
      // Networks come last, in the lock order of new servers, to avoid deadlocks.
      const networks = membershipsOf(server).map(({ network_id }) => network_id)
      await leaveNetworks(tx, server.account_id, networks, server.server_id, now)
      await leaveVolumes(tx, server.server_id, now)
      for (const subject of [serverSubject, driveSubject])
        await subjectIsGone(tx, subject(server.server_id), now)
    })
  }
}
