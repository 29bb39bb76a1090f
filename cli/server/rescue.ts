import { Command } from 'commander'
import { find, idOf } from '../find.ts'
import { repeated } from '../flags.ts'
import { action } from '../session.ts'
import { sshKeyKind } from '../ssh-key.ts'
import { addWaitOptions, type WaitOptions, wantsWait } from '../wait.ts'
import { serverKind } from './kind.ts'
import { follow } from './power.ts'

interface RescueOptions extends WaitOptions {
  sshKey?: string[]
}

/** The commands that boot a server into the rescue system and back. */
export function rescueCommands(): Command[] {
  const rescue = addWaitOptions(
    new Command('rescue')
      .description('boot a server into a rescue system beside its disk, which is /dev/vdc there')
      .argument('<server>', 'name or id')
      .option(
        '--ssh-key <ssh-key>',
        'SSH key to log in with, by name or id (repeatable; default: a generated password)',
        repeated,
      ),
  ).action(
    action(async (session, given: string, { sshKey = [], ...options }: RescueOptions) => {
      const { berth } = session
      const { server_id, name } = await find(berth, serverKind, given)
      const ssh_key_ids = await Promise.all(sshKey.map((key) => idOf(berth, sshKeyKind, key)))
      await follow(session, name, await berth.servers.rescue(server_id, { ssh_key_ids }), options)
      if (wantsWait(session, options)) session.note(`See how to log in with: berth server show ${server_id}`)
    }),
  )
  const unrescue = addWaitOptions(
    new Command('unrescue')
      .description('boot a server from its own disk again')
      .argument('<server>', 'name or id'),
  ).action(
    action(async (session, given: string, options: WaitOptions) => {
      const { berth } = session
      const { server_id, name } = await find(berth, serverKind, given)
      await follow(session, name, await berth.servers.unrescue(server_id), options)
    }),
  )
  return [rescue, unrescue]
}
