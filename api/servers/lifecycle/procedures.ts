import { countInProject } from '../../accounts/projects.ts'
import { changeRate } from '../../billing/rates.ts'
import type { Size } from '../../catalog/capacity.ts'
import type { Plan } from '../../catalog/plans.ts'
import type { Queries } from '../../database/database.ts'
import type { OperationTable, ServerStatus, ServerTable } from '../../database/schema.ts'
import { again, done, next, type Procedure, type Step } from '../../operations/engine.ts'
import {
  type Data,
  insertOperation,
  type Operation,
  type OperationType,
  type Outcome,
} from '../../operations/operations.ts'
import { release } from '../reservation.ts'
import { getServer, updateServer } from '../store.ts'
import { BOOT_MS, bootSteps } from './boot.ts'
import { offSteps } from './off.ts'
import { machineSpec, type ProcedureOptions } from './spec.ts'

const MINUTE = 60_000

/** Where an operation begins and when it has taken too long, also with a download or a full start queue before it. */
const plans: Record<OperationType, { first: string; deadlineMs: number }> = {
  create: { first: 'image', deadlineMs: 90 * MINUTE },
  start: { first: 'image', deadlineMs: 60 * MINUTE },
  stop: { first: 'shutdown', deadlineMs: 20 * MINUTE },
  reboot: { first: 'shutdown', deadlineMs: 60 * MINUTE },
  resize: { first: 'define', deadlineMs: 10 * MINUTE },
  delete: { first: 'destroy', deadlineMs: 60 * MINUTE },
}

/** Writes a new operation of a server, from its first step on. @param runAt not before this moment; at once without it */
export function orderOperation(
  tx: Queries,
  server: Pick<ServerTable, 'account_id' | 'server_id'>,
  type: OperationType,
  data: Data,
  now: number,
  runAt = now,
): Promise<OperationTable> {
  return insertOperation(tx, {
    accountId: server.account_id,
    serverId: server.server_id,
    type,
    step: firstStep(type, data),
    data,
    now,
    runAt,
    deadlineAt: now + plans[type].deadlineMs,
  })
}

function firstStep(type: OperationType, data: Data): string {
  if (!data.force) return plans[type].first
  return type === 'reboot' ? 'reset' : 'power_off'
}

/** How each type of operation is carried out on a server. */
export function procedures(options: ProcedureOptions): Record<OperationType, Procedure> {
  const boot = bootSteps(options)
  const { reset, ...off } = offSteps(options)
  const conclude = concluder(options)
  const procedure = (type: OperationType, steps: Record<string, Step>, end = conclude): Procedure => ({
    ...plans[type],
    steps,
    conclude: end,
  })
  return {
    create: procedure('create', boot),
    start: procedure('start', boot),
    stop: procedure('stop', { ...off, off: async () => done() }),
    // From `image` on as a start does: a server in `error` may have no machine yet.
    reboot: procedure('reboot', { ...boot, ...off, reset, off: async () => next('image', 55) }),
    resize: procedure('resize', { define: resizeStep(options) }, resizeConcluder(options)),
    delete: procedure('delete', { destroy: destroyStep(options) }, removeConcluder(options)),
  }
}

/** Ends an operation on a machine: on success its status follows from the type, else from what the machine does. */
function concluder({ db, clock, driver }: ProcedureOptions): Procedure['conclude'] {
  return async (operation, outcome) => {
    const server = await getServer(db, operation.server_id)
    const now = clock.now()
    const isOn =
      outcome.status === 'succeeded'
        ? operation.type !== 'stop' && operation.data.start_on_create !== false
        : (await driver.inspect(server.server_id)).power === 'running'
    // A guest that ran without ever answering on ssh has run; only a create that fails is free.
    const hasFailed = outcome.status === 'failed' && operation.type !== 'create'
    const firstRunning = (hasFailed ? bootTime(operation.data) : null) ?? (isOn ? now : null)
    const hostKeys = operation.data.host_keys
    const change: Partial<ServerTable> = {
      status: isOn ? 'running' : restStatus(operation, outcome),
      status_reason: outcome.status === 'failed' ? outcome.code : null,
      started_at: isOn ? startTime(operation, server, now) : null,
      billed_since: server.billed_since ?? firstRunning,
      ...(hostKeys === undefined ? {} : { host_keys: JSON.stringify(hostKeys) }),
      updated_at: now,
    }
    const { suspend } = operation.data
    return async (tx) => {
      if (outcome.status === 'succeeded' && (suspend === 'running' || suspend === 'stopped'))
        return becomeSuspended(tx, server, suspend, now)
      await updateServer(tx, server.server_id, change)
      if (server.billed_since === null && firstRunning !== null)
        await changeRate(tx, server, server, firstRunning)
    }
  }
}

/** When an operation turned the machine on; null where it has not come so far. */
export function bootTime({ ready_by }: Data): number | null {
  return typeof ready_by === 'number' ? ready_by - BOOT_MS : null
}

/** Why a suspended server is. */
export const SUSPENDED = 'balance_depleted'

/** From here on the server costs nothing, and waits for a top-up. */
export async function becomeSuspended(
  tx: Queries,
  server: ServerTable,
  from: NonNullable<ServerTable['suspended_from']>,
  now: number,
): Promise<void> {
  await updateServer(tx, server.server_id, {
    status: 'suspended',
    status_reason: SUSPENDED,
    suspended_from: from,
    started_at: null,
    updated_at: now,
  })
  await changeRate(tx, server, null, now)
}

/** The status of a server whose machine is off after an operation. */
function restStatus(operation: Operation, outcome: Outcome): ServerStatus {
  return operation.type === 'create' && outcome.status === 'failed' ? 'error' : 'stopped'
}

/** A stop that failed leaves the machine as it was: running since then. */
function startTime(operation: Operation, server: ServerTable, now: number): number {
  return operation.type === 'stop' ? (server.started_at ?? now) : now
}

interface ResizeData {
  plan: Plan
  growth: Size
}

function resizeStep(options: ProcedureOptions): Step {
  const { db, driver } = options
  return async (operation) => {
    const { plan } = operation.data as unknown as ResizeData // written by Servers.update
    const server = await getServer(db, operation.server_id)
    // A server that never had a machine gets the new size when its first one is made.
    if (server.has_disk) await driver.define(machineSpec(options, { ...server, ...plan.size }))
    return done()
  }
}

function resizeConcluder({ db, clock }: ProcedureOptions): Procedure['conclude'] {
  return async (operation, outcome) => {
    const { plan, growth } = operation.data as unknown as ResizeData // written by Servers.update
    const server = await getServer(db, operation.server_id)
    const rest = { status: 'stopped' as const, updated_at: clock.now() }
    return async (tx: Queries) => {
      if (outcome.status === 'failed') {
        await updateServer(tx, server.server_id, { ...rest, status_reason: outcome.code })
        await release(tx, server.account_id, growth, 0)
        return
      }
      await updateServer(tx, server.server_id, {
        ...rest,
        status_reason: null,
        plan_type: plan.planType,
        preset_id: plan.presetId,
        ...plan.size,
        price_month: plan.priceMonth,
        price_hour: plan.priceHour,
        priced_at: operation.created_at,
      })
      const price = { price_hour: plan.priceHour, price_month: plan.priceMonth }
      if (server.billed_since !== null) await changeRate(tx, server, price, clock.now())
    }
  }
}

function destroyStep({ driver }: ProcedureOptions): Step {
  return async (operation) => {
    await driver.destroy(operation.server_id)
    const { power } = await driver.inspect(operation.server_id)
    return power === 'absent' ? done() : again(500)
  }
}

/** When nothing of the machine is left, the row gives back all it held and forgets its secrets. */
function removeConcluder({ db, clock }: ProcedureOptions): Procedure['conclude'] {
  return async (operation, outcome) => {
    const server = await getServer(db, operation.server_id)
    const now = clock.now()
    return async (tx: Queries) => {
      if (outcome.status === 'failed') {
        await updateServer(tx, server.server_id, {
          status: 'error',
          status_reason: outcome.code,
          // Billing ended with the request; should the customer start it again, it begins anew.
          billed_since: null,
          updated_at: now,
        })
        return
      }
      const gone = { deleted_at: now, updated_at: now, started_at: null }
      await updateServer(tx, server.server_id, {
        ...gone,
        ssh_port: null,
        password: null,
        user_data: null,
        ssh_keys: '[]',
        host_keys: '[]',
        labels: '{}',
        description: null,
      })
      await release(tx, server.account_id, server, 1)
      await countInProject(tx, server.account_id, server.project_id, -1)
    }
  }
}
