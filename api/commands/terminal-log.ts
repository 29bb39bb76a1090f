import pino from 'pino'
import { isLost } from '../database/postgres-connection.ts'

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

/**
 * Lowers failures for want of the database to warnings: each loop has some at every interruption, which would hide a
 * fault among them. The interruption itself is one error of `api/processes/link.ts`.
 */
export const hooks: NonNullable<pino.LoggerOptions['hooks']> = {
  logMethod(args, method, level) {
    const [details]: unknown[] = args
    const isFailure = typeof details === 'object' && details !== null && 'err' in details
    if (level === ERROR && isFailure && isLost(details.err)) this.warn(...args)
    else method.apply(this, args)
  },
}

function inWords(value: unknown): string {
  return typeof value === 'string' && /^[\w.,:/@ -]+$/.test(value) ? value : JSON.stringify(value)
}

/** Removes control characters, since names from customers and output of programs must not steer the terminal. */
function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, '?')
}
