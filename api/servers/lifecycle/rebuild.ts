import { findTemplate } from '../../catalog/file.ts'
import { again, next, type Step } from '../../operations/procedure.ts'
import type { RebuildData } from '../operations.ts'
import { getServer, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import { prepareImage } from './boot.ts'
import { driverOf, type ProcedureOptions } from './spec.ts'

const ASK_GONE_MS = 500
const ERASED_AT = 55

/**
 * Steps that remove a machine with its disk, after which the steps of a create make it anew. The image comes first: if
 * it cannot be had, the server keeps its disk, and a running one keeps running.
 */
export function eraseSteps(options: ProcedureOptions): Record<'prepare' | 'erase', Step<RebuildData>> {
  const { db, drivers, catalog, clock } = options

  const prepare: Step<RebuildData> = async (operation) => {
    const server = await getServer(db, operation.subject_id)
    const template = findTemplate(catalog, operation.data.login.template_id)
    return prepareImage(options, operation, drivers.at(server.pool), template, 'erase')
  }

  const erase: Step<RebuildData> = async (operation) => {
    const driver = await driverOf(options, operation.subject_id)
    await driver.destroy(operation.subject_id)
    const { power } = await driver.inspect(operation.subject_id)
    if (power !== 'absent') return again(ASK_GONE_MS)
    const change = { ...erased(operation.data), updated_at: clock.now() }
    await db.transaction().execute((tx) => updateServer(tx, operation.subject_id, change))
    return next('make', ERASED_AT)
  }
  return { prepare, erase }
}

/** The columns of a server whose old disk is gone: its next one gets the new system. */
export function erased({ login }: RebuildData): Partial<ServerTable> {
  return { ...login, host_keys: '[]', has_disk: 0, crash_count: 0, crashed_at: null }
}
