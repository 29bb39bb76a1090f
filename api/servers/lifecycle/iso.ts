import { findIso } from '../../catalog/file.ts'
import { type Driver, DriverError } from '../../drivers/driver.ts'
import { again, fail, type Operation, type StepResult } from '../../operations/procedure.ts'
import type { ServerTable } from '../tables.ts'
import type { ProcedureOptions } from './spec.ts'

const ASK_MS = 500

/**
 * Puts the ISO of a server into the drive of its machine, or takes out the one in it. The host first fetches one of the
 * operator, as it does the image of a template.
 * @param advice a sentence for the customer of a lost ISO
 * @returns what is to be done instead: to wait for the file, or to fail; null: the drive is as the row says
 * @throws DriverError unsupported, unavailable
 */
export async function settleIso(
  { catalog, log }: Pick<ProcedureOptions, 'catalog' | 'log'>,
  { operation_id }: Pick<Operation<object>, 'operation_id'>,
  driver: Driver,
  { server_id, iso_id }: Pick<ServerTable, 'server_id' | 'iso_id'>,
  advice: string,
): Promise<StepResult<never> | null> {
  const offered = findIso(catalog, iso_id)
  if (offered) {
    const state = await driver.image(offered.image)
    if (state.state === 'failed') {
      // The store's message is only for the operator: it names sources and files.
      log.error({ operation_id, reason: state.message }, 'an ISO could not be prepared')
      return fail(
        'image_unavailable',
        'The ISO could not be prepared. Choose another one, or try again later.',
      )
    }
    if (state.state !== 'ready') return again(ASK_MS)
  }
  try {
    await driver.insertIso(server_id, offered?.image ?? iso_id)
    return null
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    if (error.code === 'image_not_ready') return again(ASK_MS)
    if (error.code === 'not_found') return fail('iso_lost', `The ISO is missing on its host. ${advice}`)
    throw error
  }
}
