import { type Berth, isBerthError, type Operation, type Server, type StopRequest } from '@berth/sdk'
import { Command } from 'commander'
import { confirmDelete } from '../ask.ts'
import { find, idOf } from '../find.ts'
import { wholeNumber } from '../flags.ts'
import { showOperation } from '../operation.ts'
import { showText } from '../output.ts'
import { action, type Session } from '../session.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'
import { serverKind } from './kind.ts'

/** start, stop and reboot. */
export function powerCommands(): Command[] {
  return [
    powerCommand({
      verb: 'start',
      description: 'start a stopped server',
      goal: 'running',
      act: (berth, id) => berth.servers.start(id),
    }),
    addOffOptions(
      powerCommand({
        verb: 'stop',
        description: 'shut down a server',
        goal: 'stopped',
        act: (berth, id, options) => berth.servers.stop(id, options),
      }),
    ),
    addOffOptions(
      powerCommand({
        verb: 'reboot',
        description: 'reboot a server',
        act: (berth, id, options) => berth.servers.reboot(id, options),
      }),
    ),
  ]
}

interface OffOptions {
  force?: boolean
  timeout?: number
}

function addOffOptions(command: Command): Command {
  return command
    .option('--force', 'power off without shutting down the guest')
    .option(
      '--timeout <seconds>',
      'time that the guest has to shut down before it is powered off (default: 60)',
      wholeNumber,
    )
}

interface Power {
  verb: string
  description: string
  /** With this status there is nothing to do, which is not an error. */
  goal?: Server['status']
  act(berth: Berth, server_id: string, options: StopRequest): Promise<Operation>
}

/** A command that starts an operation on one server. */
function powerCommand({ verb, description, goal, act }: Power): Command {
  return addWaitOptions(new Command(verb).description(description).argument('<server>', 'name or id')).action(
    action(async (session, given: string, { force, timeout, ...options }: OffOptions & WaitOptions) => {
      const { berth } = session
      const server_id = await idOf(berth, serverKind, given)
      try {
        const ordered = await act(berth, server_id, { force, timeout_seconds: timeout })
        await follow(session, given, ordered, options)
      } catch (error) {
        if (!isBerthError(error, 'server_state_conflict')) throw error
        const server = await berth.servers.get(server_id)
        if (server.status !== goal) throw error
        await showUnchanged(session, server)
      }
    }),
  )
}

async function showUnchanged(session: Session, server: Server): Promise<void> {
  if (session.format !== 'table') return session.show(server, {})
  showText(session.terminal.stdout, `Server ${server.name} is already ${server.status}.\n`)
}

/** The result of an operation that succeeded. */
const outcomes: Record<Operation['type'], string> = {
  create: 'is ready',
  start: 'is running',
  stop: 'is stopped',
  reboot: 'is running again',
  resize: 'is resized',
  rebuild: 'is rebuilt',
  reset_password: 'has a new password',
  restore: 'is restored',
  rescue: 'runs the rescue system',
  unrescue: 'runs from its own disk again',
  snapshot: 'is copied',
  import: 'is available',
  backup: 'is backed up',
  delete: 'is deleted',
  attach_network: 'is attached',
  detach_network: 'is detached',
  attach_volume: 'is attached',
  detach_volume: 'is detached',
  resize_volume: 'is grown',
  delete_volume: 'is deleted',
  insert_iso: 'has the ISO in its drive',
  eject_iso: 'has an empty drive',
}

/** Waits for an operation and prints its result, or shows it without waiting. */
export async function follow(
  session: Session,
  name: string,
  ordered: Operation,
  options: WaitOptions,
): Promise<void> {
  if (!wantsWait(session, options)) return showOperation(session, ordered)
  const operation = await waitFor(session, ordered)
  if (session.format !== 'table') return showOperation(session, operation)
  const noun = operation.subject_type === 'volume' ? 'Volume' : 'Server'
  showText(session.terminal.stdout, `${noun} ${name} ${outcomes[operation.type]}.\n`)
}

export function waitCommand(): Command {
  return new Command('wait')
    .description('wait until no operation is in progress on a server; exits with 7 if the last one failed')
    .argument('<server>', 'name or id; for a deleted server, its id')
    .action(
      action(async (session, given: string) => {
        const server_id = await idOf(session.berth, serverKind, given)
        // Its newest operation is the current one, if there is one.
        await showOperation(session, await waitFor(session, { server_id, current_operation: null }))
      }),
    )
}

export function deleteCommand(): Command {
  return addWaitOptions(
    new Command('delete')
      .description(
        'delete a server and its disk, but for a week not its backups; asks you to confirm its name',
      )
      .argument('<server>', 'name or id')
      .option('-y, --yes', 'skip the confirmation'),
  ).action(
    action(async (session, given: string, options: { yes?: boolean } & WaitOptions) => {
      const { berth, terminal } = session
      const { server_id, name } = await find(berth, serverKind, given)
      await confirmDelete(terminal, { noun: 'server', name, yes: options.yes })
      await follow(session, name, await berth.servers.delete(server_id), options)
    }),
  )
}
