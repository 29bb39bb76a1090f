import { Command } from 'commander'
import { idOf } from '../find.ts'
import { action, type Session } from '../session.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'
import { isoKind } from './iso-kind.ts'
import { serverKind } from './kind.ts'
import { showServer } from './show.ts'

export function insertIsoCommand(): Command {
  return addWaitOptions(
    new Command('insert-iso')
      .description('put an ISO into the drive of a server, whose next start boots from it')
      .argument('<server>', 'name or id')
      .argument('<iso>', 'name or id'),
  ).action(
    action(async (session, given: string, iso: string, options: WaitOptions) => {
      await changeDrive(session, given, await idOf(session.berth, isoKind, iso), options)
    }),
  )
}

export function ejectIsoCommand(): Command {
  return addWaitOptions(
    new Command('eject-iso')
      .description('take the ISO out of the drive of a server')
      .argument('<server>', 'name or id'),
  ).action(
    action(async (session, given: string, options: WaitOptions) => {
      await changeDrive(session, given, null, options)
    }),
  )
}

async function changeDrive(session: Session, given: string, iso_id: string | null, options: WaitOptions) {
  const { berth } = session
  const server_id = await idOf(berth, serverKind, given)
  const { current_operation: begun } = await berth.servers.update(server_id, { iso_id })
  if (begun && wantsWait(session, options))
    await waitFor(session, await berth.operations.get(begun.operation_id))
  await showServer(session, server_id)
}
