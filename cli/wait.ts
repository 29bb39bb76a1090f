import { BerthError, ConnectionError, type Operation, TimeoutError, type Waitable } from '@berth/sdk'
import { type Command, Option } from 'commander'
import { exitCodes, Refusal, tellingOf, withRequest } from './errors.ts'
import { printable } from './output.ts'
import type { Session } from './session.ts'

const BAR = 20

export interface WaitOptions {
  wait?: boolean | undefined
}

/** Adds the options of a command that orders something which takes time. */
export function addWaitOptions(command: Command): Command {
  return command
    .addOption(new Option('--wait', 'wait until it is done; so it is on a terminal'))
    .addOption(new Option('--no-wait', 'show the operation, and leave it to itself'))
}

/** Whether to wait for the end: as asked, otherwise where somebody looks on. */
export const wantsWait = ({ terminal }: Session, { wait }: WaitOptions): boolean =>
  wait ?? terminal.stderr.isTTY === true

/**
 * Waits for the end of an operation, with a bar on a terminal. Ctrl-C ends the waiting, not the operation.
 * @throws OperationFailed where it failed or was canceled
 * @throws Refusal at Ctrl-C
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
      throw new Refusal('You no longer wait; the operation goes on.', advice, exitCodes.interrupted)
    throw isLost(error) ? whileLost(error, advice) : error
  } finally {
    bar.clear()
    terminal.off('SIGINT', interrupt)
  }
}

/** Whether it is not known how the operation stands, rather than that it failed or is none. */
const isLost = (error: unknown) =>
  error instanceof ConnectionError ||
  error instanceof TimeoutError ||
  (error instanceof BerthError && error.status >= 500)

/** Who tried again would order it twice. */
function whileLost(error: unknown, advice: string): unknown {
  const told = tellingOf(error)
  return (
    told &&
    new Refusal(told.message, withRequest(`The operation was ordered. ${advice}`, error), told.exitCode)
  )
}

/** The command that waits for the same, as far as it is known what that is. */
function waitingFor(what: Waitable, seen: Operation | undefined): string {
  if ('operation_id' in what) return `operation wait ${what.operation_id}`
  const operation = seen ?? what.current_operation
  return operation ? `operation wait ${operation.operation_id}` : `server wait ${what.server_id}`
}

/**
 * One line that is written over, and gone in the end. Where there is no terminal, nothing. The cursor is not hidden:
 * a program that is killed could not bring it back.
 */
function progressBar(stream: Session['terminal']['stderr']) {
  // Room for the ^C that a terminal shows. A line that breaks would leave its first part behind.
  const room = () => (stream.columns || 80) - 3
  const begun = Date.now()
  const write = (text: string) => {
    if (stream.isTTY) stream.write(`\r\x1b[K${text.slice(0, room())}`)
  }
  return {
    show: ({ type, progress, step }: Operation) => {
      const seconds = Math.round((Date.now() - begun) / 1000)
      const words = printable(`${String(progress).padStart(3)} %  ${step.replaceAll('_', ' ')}  ${seconds} s`)
      const width = Math.max(0, Math.min(BAR, room() - type.length - words.length - 2))
      const full = Math.max(0, Math.min(width, Math.round((progress / 100) * width)))
      write(`${printable(type)} ${'█'.repeat(full)}${'░'.repeat(width - full)} ${words}`)
    },
    clear: () => write(''),
  }
}
