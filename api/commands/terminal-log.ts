import pino from 'pino'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { FullDisk } from '../database/full-disk.ts'
import { isLost } from '../database/postgres-errors.ts'

interface Line extends Record<string, unknown> {
  level: number
  time: number
  msg?: string
  err?: { message: string; stack?: string }
}

/**
 * Formats a line of the log for people: the time (UTC), the level, the event and its fields.
 * @param line JSON, as pino writes it
 */
export function readable(line: string): string {
  const { level, time, pid: _pid, hostname: _host, msg = '', err, ...details }: Line = JSON.parse(line)
  const facts = { ...details, ...(err && { error: err.message }) }
  const said = Object.entries(facts).map(([name, value]) => `${name}=${inWords(value)}`)
  const at = new Date(time).toISOString().slice(11, 19)
  const text = [at, pino.levels.labels[level], msg, ...said].filter(Boolean).join(' ')
  return `${harmless(level >= ERROR && err?.stack ? `${text}\n${err.stack}` : text)}\n`
}

const ERROR = 50

const FULL =
  'A disk is full: changes are refused, and machines that need room stop. Make room as docs/operating/trouble.md says; then everything continues by itself.'

/**
 * Lowers failures due to an unreachable database to warnings, and failures due to a full disk to details.
 * Each loop, or each customer's request, logs some at every interruption, which would hide other faults. The
 * interruption itself is one error, logged by `api/processes/link.ts` or here.
 */
export const hooks = (disk: FullDisk): NonNullable<pino.LoggerOptions['hooks']> => ({
  logMethod(args, method, level) {
    const [details]: unknown[] = args
    const error = typeof details === 'object' && details !== null && 'err' in details ? details.err : null
    const isFull = disk.note(error)
    if (isFull && disk.isNews()) this.error(FULL)
    if (isFull) this.debug(...args)
    else if (level === ERROR && isLost(error)) this.warn(...args)
    else method.apply(this, args)
  },
})

function inWords(value: unknown): string {
  return typeof value === 'string' && /^[\w.,:/@ -]+$/.test(value) ? value : JSON.stringify(value)
}

/** Removes control characters, since names from customers and output of programs must not steer the terminal. */
function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, '?')
}

/** Opens the logs of a service: the log of events on stderr, and messages for the operator on stdout. */
export function openLogs({ logLevel }: Pick<Config, 'logLevel'>) {
  const stderr = pino.destination({ dest: 2, sync: true })
  const terminal = { write: (line: string) => void stderr.write(readable(line)) }
  const disk = new FullDisk(systemClock)
  const log = pino({ level: logLevel, hooks: hooks(disk) }, process.stderr.isTTY ? terminal : stderr)
  // Notices reach operators at any level of the log. Journals get JSON only.
  const notices = process.stdout.isTTY ? null : pino(pino.destination({ dest: 1, sync: true }))
  return { log, notices, disk }
}
