import { Command } from 'commander'
import { find } from '../find.ts'
import { action } from '../session.ts'
import { addWaitOptions, type WaitOptions, wantsWait } from '../wait.ts'
import { serverKind } from './kind.ts'
import { follow } from './power.ts'

export function resetPasswordCommand(): Command {
  return addWaitOptions(
    new Command('reset-password')
      .description(
        'set a new password on a running server; the console accepts it, SSH only without SSH keys',
      )
      .argument('<server>', 'name or id'),
  ).action(
    action(async (session, given: string, options: WaitOptions) => {
      const { berth } = session
      const { server_id, name } = await find(berth, serverKind, given)
      await follow(session, name, await berth.servers.resetPassword(server_id), options)
      if (wantsWait(session, options)) session.note(`See its password with: berth server show ${server_id}`)
    }),
  )
}
