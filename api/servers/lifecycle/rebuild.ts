import { findTemplate } from '../../catalog/file.ts'
import { findActive } from '../../operations/operations.ts'
import { fail, next, type Step } from '../../operations/procedure.ts'
import { type OffData, type RebuildData, type RescueData, serverSubject } from '../operations.ts'
import { RESCUE_IMAGE } from '../rescue-login.ts'
import { lockServer, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import { prepareImage, prepareSnapshot } from './boot.ts'
import type { ProcedureOptions } from './spec.ts'

const SWITCHED_AT = 55

type RebuildStep = Step<RebuildData, ServerTable>

/**
 * Steps that remove a machine with its disk; the steps of a create then make a new one. The image or the
 * snapshot comes first: if it is unavailable, the server keeps its disk, and a running one keeps running.
 */
export function eraseSteps(options: ProcedureOptions): Record<'prepare' | 'erase', RebuildStep> {
  const { drivers, catalog } = options

  const prepare: RebuildStep = async (operation, _signal, { pool, snapshot_id }) => {
    const driver = drivers.at(pool)
    const template = findTemplate(catalog, operation.data.login.template_id)
    const result = await (snapshot_id === null
      ? prepareImage(options, operation, driver, template, 'erase')
      : prepareSnapshot(options, operation, driver, snapshot_id, 'erase'))
    return result.kind === 'fail' ? fail(result.code, `${result.message} The server keeps its disk.`) : result
  }

  const erase: RebuildStep = async (operation, _signal, server) => {
    const { subject_id, operation_id } = operation
    await drivers.at(server.pool).destroy(subject_id, operation_id)
    await writeWhileActive(options, operation, server, erased(operation_id, operation.data))
    return next('make', SWITCHED_AT)
  }
  return { prepare, erase }
}

/**
 * Changes a server in a step of its operation, unless that has ended: a process that was cut off may come here late.
 * @param server the row that this step got; the following steps of the same run get it too, with the change
 */
export async function writeWhileActive(
  { db, clock }: Pick<ProcedureOptions, 'db' | 'clock'>,
  { operation_id, subject_id }: { operation_id: string; subject_id: string },
  server: ServerTable,
  columns: Partial<ServerTable>,
): Promise<void> {
  const change = { ...columns, updated_at: clock.now() }
  await db.transaction().execute(async (tx) => {
    const locked = await lockServer(tx, subject_id)
    const active = await findActive(tx, serverSubject(subject_id))
    if (locked && active?.operation_id === operation_id) await updateServer(tx, locked, change)
  })
  Object.assign(server, change)
}

/** The columns of a server whose old disk is gone: its next one gets the new system. */
export function erased(
  operationId: string,
  { login, instance_id = operationId }: Pick<RebuildData, 'login'> & { instance_id?: string | undefined },
): Partial<ServerTable> {
  const fresh = { host_keys: '[]', has_disk: 0, crash_count: 0, crashed_at: null }
  return { ...login, instance_id, ...fresh, rescue_id: null, rescue_login: null }
}

/**
 * Steps into the rescue system and back. The row says what the server boots, and each boot passes that on to the driver:
 * so an operation that ends between two steps leaves nothing undone.
 */
export function rescueSteps(
  options: ProcedureOptions,
): Record<'prepare' | 'enter', Step<RescueData, ServerTable>> & { leave: Step<OffData, ServerTable> } {
  /** The image comes first: if it is unavailable, a running server keeps running. */
  const prepare: Step<RescueData, ServerTable> = async (operation, _signal, { pool, server_id }) => {
    const driver = options.drivers.at(pool)
    if ((await driver.inspect(server_id)).power === 'absent')
      return fail('disk_lost', 'The server has no disk on its host, so there is nothing to rescue.')
    const result = await prepareImage(options, operation, driver, { image: RESCUE_IMAGE }, 'shutdown')
    return result.kind === 'fail'
      ? fail(result.code, 'The rescue system could not be prepared. Try again later, or contact support.')
      : result
  }
  const enter: Step<RescueData, ServerTable> = async (operation, _signal, server) => {
    const { rescue_login } = operation.data
    await writeWhileActive(options, operation, server, {
      rescue_id: operation.operation_id,
      rescue_login,
      host_keys: '[]',
    })
    return next('boot', SWITCHED_AT)
  }
  const leave: Step<OffData, ServerTable> = async (operation, _signal, server) => {
    await writeWhileActive(options, operation, server, {
      rescue_id: null,
      rescue_login: null,
      host_keys: '[]',
    })
    return next('boot', SWITCHED_AT)
  }
  return { prepare, enter, leave }
}
