import type { Parts, Route } from '@berth/sdk'

/** One call of the API, which "Show as" writes as a command, a request and a program. */
export type Example = { [R in Route]: Call<R> }[Route]

type Call<R extends Route> = Parts<R> & {
  route: R
  /** For the command line; null if it has no command for the call. */
  berth: string | null
  /** The client's method, such as `servers.list`; the whole call if its arguments are not path, query and body. */
  sdk: string
}

/** A word for a shell, in quotes if it needs them. */
export const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** A command of `berth`: flags without a value are left out. */
export function berthCommand(words: string, flags: Readonly<Record<string, unknown>> = {}): string {
  const given = Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined || value === null || value === false || value === '') return []
    if (Array.isArray(value)) return value.map((part) => `--${name} ${quoted(String(part))}`)
    return value === true ? [`--${name}`] : [`--${name} ${quoted(String(value))}`]
  })
  return [`berth ${words}`, ...given].join(given.length > 2 ? ' \\\n  ' : ' ')
}
