import type { Berth, Operation, StopRequest } from '@berth/sdk'
import { Command } from 'commander'
import { confirmDelete } from '../ask.ts'
import { find, idOf } from '../find.ts'
import { wholeNumber } from '../flags.ts'
import { showOperation } from '../operation.ts'
import { showText } from '../output.ts'
import { action, type Session } from '../session.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'

/** start, stop and reboot. */
export function powerCommands(): Command[] {
  return [
    powerCommand('start', 'start a server that is stopped', (berth, id) => berth.servers.start(id)),
    addOffOptions(
      powerCommand('stop', 'shut a server down', (berth, id, options) => berth.servers.stop(id, options)),
    ),
    addOffOptions(
      powerCommand('reboot', 'shut a server down and start it', (berth, id, options) =>
        berth.servers.reboot(id, options),
      ),
    ),
  ]
}

interface OffOptions {
  force?: boolean
  timeout?: number
}

function addOffOptions(command: Command): Command {
  return command
    .option('--force', 'pull the plug instead of asking the guest')
    .option(
      '--timeout <seconds>',
      'how long the guest may take before its plug is pulled; 60 without it',
      wholeNumber,
    )
}

/** A command that carries something out on one server. */
function powerCommand(
  verb: string,
  description: string,
  act: (berth: Berth, server_id: string, options: StopRequest) => Promise<Operation>,
): Command {
  return addWaitOptions(new Command(verb).description(description).argument('<server>', 'name or id')).action(
    action(async (session, given: string, { force, timeout, ...options }: OffOptions & WaitOptions) => {
      const server_id = await idOf(session.berth, 'server', given)
      const ordered = await act(session.berth, server_id, { force, timeout_seconds: timeout })
      await follow(session, given, ordered, options)
    }),
  )
}

/** What has come of an operation that succeeded, for people. */
const outcomes: Record<Operation['type'], string> = {
  create: 'is made',
  start: 'runs',
  stop: 'is stopped',
  reboot: 'runs again',
  resize: 'has its new size',
  delete: 'is deleted',
}

/** Says what has come of an operation that was ordered; shows it as it is where nobody waits. */
async function follow(
  session: Session,
  name: string,
  ordered: Operation,
  options: WaitOptions,
): Promise<void> {
  if (!wantsWait(session, options)) return showOperation(session, ordered)
  const operation = await waitFor(session, ordered)
  if (session.format !== 'table') return showOperation(session, operation)
  showText(session.terminal.stdout, `The server ${name} ${outcomes[operation.type]}.\n`)
}

export function waitCommand(): Command {
  return new Command('wait')
    .description(
      'wait for the end of what is done with a server; ends with 7 if that, or else its last, failed',
    )
    .argument('<server>', 'name or id; the id also of one that is gone')
    .action(
      action(async (session, given: string) => {
        const server_id = await idOf(session.berth, 'server', given)
        // Its newest operation is the current one, where there is one.
        await showOperation(session, await waitFor(session, { server_id, current_operation: null }))
      }),
    )
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
      await follow(session, name, await berth.servers.delete(server_id), options)
    }),
  )
}
