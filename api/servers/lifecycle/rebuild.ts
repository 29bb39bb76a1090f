import { findTemplate } from '../../catalog/file.ts'
import { findActive } from '../../operations/operations.ts'
import { fail, next, type Step } from '../../operations/procedure.ts'
import { type RebuildData, serverSubject } from '../operations.ts'
import { lockServer, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import { prepareImage, prepareSnapshot } from './boot.ts'
import type { ProcedureOptions } from './spec.ts'

const ERASED_AT = 55

type RebuildStep = Step<RebuildData, ServerTable>

/**
 * Steps that remove a machine with its disk, after which the steps of a create make it anew. The image or the snapshot comes first: if
 * it cannot be had, the server keeps its disk, and a running one keeps running.
 */
export function eraseSteps(options: ProcedureOptions): Record<'prepare' | 'erase', RebuildStep> {
  const { db, drivers, catalog, clock } = options

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
    const change = { ...erased(operation_id, operation.data), updated_at: clock.now() }
    await db.transaction().execute(async (tx) => {
      const locked = await lockServer(tx, subject_id)
      const active = await findActive(tx, serverSubject(subject_id))
      // A process that was cut off may come here late, when the rebuilt server runs.
      if (locked && active?.operation_id === operation_id) await updateServer(tx, locked, change)
    })
    // The following steps of this run get the same row.
    Object.assign(server, change)
    return next('make', ERASED_AT)
  }
  return { prepare, erase }
}

/** The columns of a server whose old disk is gone: its next one gets the new system. */
export function erased(
  operationId: string,
  { login, instance_id = operationId }: Pick<RebuildData, 'login'> & { instance_id?: string | undefined },
): Partial<ServerTable> {
  return { ...login, instance_id, host_keys: '[]', has_disk: 0, crash_count: 0, crashed_at: null }
}
