import { findIso } from '../../catalog/file.ts'
import { type Driver, DriverError } from '../../drivers/driver.ts'
import { again, fail, type Operation, type StepResult } from '../../operations/procedure.ts'
import type { ServerTable } from '../tables.ts'
import type { ProcedureOptions } from './spec.ts'

const ASK_MS = 500

/**
 * Inserts a server's ISO into the drive of its machine, or ejects the ISO in it. The host first fetches an
 * operator's ISO, as it does the image of a template.
 * @param advice a sentence for a customer whose ISO is lost
 * @returns the step's result if it must wait for the file, or fail; null: the drive is as the row says
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
