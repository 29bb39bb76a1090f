import { BerthError, ConnectionError, type Operation, TimeoutError, type Waitable } from '@berth/sdk'
import { type Command, Option } from 'commander'
import { exitCodes, Refusal, reportOf, withRequest } from './errors.ts'
import { printable } from './output.ts'
import type { Session } from './session.ts'

const BAR = 20

export interface WaitOptions {
  wait?: boolean | undefined
}

/** Adds --wait and --no-wait to a command that starts an operation. */
export function addWaitOptions(command: Command): Command {
  return command
    .addOption(new Option('--wait', 'wait until the operation has finished (default on a terminal)'))
    .addOption(new Option('--no-wait', 'print the operation without waiting for it'))
}

/** True if the command should wait: as given, or if there is a terminal. */
export const wantsWait = ({ terminal }: Session, { wait }: WaitOptions): boolean =>
  wait ?? terminal.stderr.isTTY === true

/**
 * Waits for an operation to finish, with a progress bar on a terminal. Ctrl-C stops the waiting, not the operation.
 * @throws OperationFailed if it failed or was canceled
 * @throws Refusal on Ctrl-C
 */
export async function waitFor(session: Session, what: Waitable): Promise<Operation> {
  const { berth, terminal } = session
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  terminal.on('SIGINT', interrupt)
  const bar = progressBar(terminal.stderr)
  let seen: Operation | undefined
  const onProgress = (operation: Operation) => {
    seen = operation
    bar.show(operation)
  }
  try {
    return await berth.operations.wait(what, {
      signal: interrupted.signal,
      ...(terminal.stderr.isTTY ? { onProgress } : {}),
    })
  } catch (error) {
    const advice = `Follow it with: berth ${waitingFor(what, seen)}`
    if (interrupted.signal.aborted)
      throw new Refusal('Stopped waiting; the operation continues.', advice, exitCodes.interrupted)
    throw isLost(error) ? whileLost(error, advice) : error
  } finally {
    bar.clear()
    terminal.off('SIGINT', interrupt)
  }
}

/** True if the state of the operation is unknown, rather than failed or not found. */
const isLost = (error: unknown) =>
  error instanceof ConnectionError ||
  error instanceof TimeoutError ||
  (error instanceof BerthError && error.status >= 500)

/** Reports that the operation was accepted, because trying again would start it twice. */
function whileLost(error: unknown, advice: string): unknown {
  const report = reportOf(error)
  return (
    report &&
    new Refusal(report.message, withRequest(`The operation was accepted. ${advice}`, error), report.exitCode)
  )
}

/** The command that waits for the same operation, or for the server if that is not known. */
function waitingFor(what: Waitable, seen: Operation | undefined): string {
  if ('operation_id' in what) return `operation wait ${what.operation_id}`
  const operation = seen ?? what.current_operation
  return operation ? `operation wait ${operation.operation_id}` : `server wait ${what.server_id}`
}

/**
 * One line that is redrawn in place and cleared at the end; nothing without a terminal. The cursor stays visible:
 * a program that is killed could not restore it.
 */
export function progressBar(stream: Session['terminal']['stderr']) {
  // Leaves room for the ^C that a terminal echoes. A line that wraps would not be cleared.
  const room = () => (stream.columns || 80) - 3
  const startedAt = Date.now()
  const write = (text: string) => {
    if (stream.isTTY) stream.write(`\r\x1b[K${text.slice(0, room())}`)
  }
  return {
    show: ({ type, progress, step }: Pick<Operation, 'progress' | 'step'> & { type: string }) => {
      const seconds = Math.round((Date.now() - startedAt) / 1000)
      const words = printable(`${String(progress).padStart(3)}%  ${step.replaceAll('_', ' ')}  ${seconds} s`)
      const width = Math.max(0, Math.min(BAR, room() - type.length - words.length - 2))
      const full = Math.max(0, Math.min(width, Math.round((progress / 100) * width)))
      write(`${printable(type)} ${'█'.repeat(full)}${'░'.repeat(width - full)} ${words}`)
    },
    clear: () => write(''),
  }
}
