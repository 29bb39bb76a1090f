import { isBerthError, type Operation, type Server, type ServerUpdate } from '@berth/sdk'
import { Command } from 'commander'
import { ask } from '../ask.ts'
import { exitCodes, Refusal, reportOf } from '../errors.ts'
import { find } from '../find.ts'
import { wholeNumber } from '../flags.ts'
import { action, type Session } from '../session.ts'
import { addWaitOptions, type WaitOptions, waitFor, wantsWait } from '../wait.ts'
import { serverKind } from './kind.ts'
import { sizeOf } from './order.ts'
import { showServer } from './show.ts'

interface ResizeOptions extends WaitOptions {
  preset?: string
  cpu?: number
  ramMb?: number
  diskGb?: number
  stop?: boolean
}

export function resizeCommand(): Command {
  return addWaitOptions(
    new Command('resize')
      .description('resize a stopped server, or grow the disk of a running one')
      .argument('<server>', 'name or id')
      .option('--preset <preset>', 'size on offer; or set any of --cpu, --ram-mb and --disk-gb')
      .option('--cpu <cores>', 'number of CPU cores', wholeNumber)
      .option('--ram-mb <mb>', 'memory in MB', wholeNumber)
      .option('--disk-gb <gb>', 'disk in GB', wholeNumber)
      .option('--stop', 'stop a running server, start it again afterwards, and wait until that has finished'),
  ).action(
    action(async (session, given: string, options: ResizeOptions) => {
      const { berth } = session
      const { cpu, ramMb, diskGb } = options
      if ([options.preset, cpu, ramMb, diskGb].every((value) => value === undefined))
        throw new Refusal('No size given.', 'Set --preset, or any of --cpu, --ram-mb and --disk-gb.')
      const server = await find(berth, serverKind, given)
      const change = sizeOf(options)
      // Also while it runs: a size that is never accepted is rejected before the status, and nothing is stopped.
      const ordered = await berth.servers.update(server.server_id, change).catch((error: unknown) => {
        if (server.status !== 'running' || !isBerthError(error, 'server_state_conflict')) throw error
      })
      if (!ordered) await resizeRunning(session, server, change, options)
      else if (wantsWait(session, options)) await waitFor(session, ordered)
      await showServer(session, server.server_id)
    }),
  )
}

/** After confirmation, stops a running server, resizes it, and starts it again, even if the size was rejected. */
async function resizeRunning(
  session: Session,
  { server_id, name }: Server,
  change: ServerUpdate,
  options: ResizeOptions,
): Promise<void> {
  const { servers } = session.berth
  if (!options.stop) await confirmStop(session, name)
  const carryOut = async (ordered: Promise<Operation | Server>) => waitFor(session, await ordered)
  await carryOut(servers.stop(server_id)).catch((error: unknown) => {
    throw interruptedWhile(error, {
      doing: 'The server is being stopped; it was not resized and will not be started again.',
      next: [`server resize ${server_id} ${sizeOptions(options)}`, `server start ${server_id}`],
    })
  })
  const refusal = await carryOut(servers.update(server_id, change)).then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  if (refusal && isInterruption(refusal.error))
    throw interruptedWhile(refusal.error, {
      doing: 'The server is being resized and will not be started again.',
      next: [`server start ${server_id}`],
    })
  await carryOut(servers.start(server_id))
  if (refusal) throw startedAgain(refusal.error)
}

const isInterruption = (error: unknown): error is Refusal =>
  error instanceof Refusal && error.exitCode === exitCodes.interrupted

/** After Ctrl-C, reports the state of the server, and the commands that complete the resize. */
function interruptedWhile(error: unknown, { doing, next }: { doing: string; next: string[] }): unknown {
  if (!isInterruption(error)) return error
  const commands = next.map((command) => `; then: berth ${command}`).join('')
  return new Refusal(`Stopped waiting. ${doing}`, `${error.advice}${commands}`, exitCodes.interrupted)
}

/** The size options as typed. */
function sizeOptions({ preset, cpu, ramMb, diskGb }: ResizeOptions): string {
  return Object.entries({ preset, cpu, 'ram-mb': ramMb, 'disk-gb': diskGb })
    .flatMap(([name, value]) => (value === undefined ? [] : `--${name} ${value}`))
    .join(' ')
}

/** A rejection, with the status that the server is left in. */
function startedAgain(error: unknown): unknown {
  const report = reportOf(error)
  if (!report) return error
  return new Refusal(`${report.message} The server was started again.`, report.advice, report.exitCode)
}

async function confirmStop({ terminal }: Session, name: string): Promise<void> {
  const instead = `Server ${name} is running. Use --stop to stop it, resize it and start it again.`
  const isConfirmed = await ask(terminal, instead, ({ confirm }, at) =>
    confirm(
      { message: `Server ${name} is running. Stop it, resize it and start it again?`, default: false },
      at,
    ),
  )
  if (!isConfirmed) throw new Refusal('Canceled.', 'Nothing was changed.', exitCodes.error)
}
