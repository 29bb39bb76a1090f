import type { Berth, Operation } from '@berth/sdk'
import { Command } from 'commander'
import { confirmDelete } from '../ask.ts'
import { find, idOf } from '../names.ts'
import { showOperation } from '../operation.ts'
import { action, type Session } from '../session.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'

/** start, stop and reboot. */
export function powerCommands(): Command[] {
  return [
    powerCommand('start', 'start a server that is stopped', (berth, id) => berth.servers.start(id)),
    powerCommand('stop', 'shut a server down', (berth, id, { force }) =>
      berth.servers.stop(id, { force }),
    ).option('--force', 'pull the plug instead of asking the guest'),
    powerCommand('reboot', 'shut a server down and start it', (berth, id, { force }) =>
      berth.servers.reboot(id, { force }),
    ).option('--force', 'pull the plug instead of asking the guest'),
  ]
}

/** A command that carries something out on one server. */
function powerCommand(
  verb: string,
  description: string,
  act: (berth: Berth, server_id: string, options: { force?: boolean }) => Promise<Operation>,
): Command {
  return addWaitOptions(new Command(verb).description(description).argument('<server>', 'name or id')).action(
    action(async (session, given: string, options: { force?: boolean } & WaitOptions) => {
      const server_id = await idOf(session.berth, 'server', given)
      await follow(session, await act(session.berth, server_id, options), options)
    }),
  )
}

/** Shows an operation that was ordered: how it ended, or as it is. */
export async function follow(session: Session, ordered: Operation, options: WaitOptions): Promise<void> {
  await showOperation(session, wantsWait(session, options) ? await waitFor(session, ordered) : ordered)
}

export function deleteCommand(): Command {
  return addWaitOptions(
    new Command('delete')
      .description('take a server and its disk; asks for its name first')
      .argument('<server>', 'name or id')
      .option('-y, --yes', 'do not ask'),
  ).action(
    action(async (session, given: string, options: { yes?: boolean } & WaitOptions) => {
      const { berth, terminal } = session
      const { server_id, name } = await find(berth, 'server', given)
      await confirmDelete(terminal, { noun: 'server', name, yes: options.yes })
      await follow(session, await berth.servers.delete(server_id), options)
    }),
  )
}
