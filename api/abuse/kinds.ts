const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

interface Kind {
  unit: string
  /** The threshold: lower figures are not signs. */
  least: number
  /** How long a sign must last before it is listed. */
  lastsMs: number
  subject: 'server' | 'network' | 'card'
}

/** The kinds of signs. Figures of servers are means over ten minutes or more. */
export const kinds = {
  outgoing_flood: { unit: 'packets_per_second', least: 10_000, lastsMs: 0, subject: 'server' },
  many_connections: { unit: 'connections_per_second', least: 200, lastsMs: 0, subject: 'server' },
  mail_tries: { unit: 'tries_per_hour', least: 300, lastsMs: 0, subject: 'server' },
  cpu_at_limit: { unit: 'percent', least: 90, lastsMs: 3 * DAY_MS, subject: 'server' },
  accounts_of_network: { unit: 'accounts', least: 5, lastsMs: 0, subject: 'network' },
  accounts_of_card: { unit: 'accounts', least: 3, lastsMs: 0, subject: 'card' },
} as const satisfies Readonly<Record<string, Kind>>

export type SignKind = keyof typeof kinds

// Object.keys returns strings.
export const kindNames = Object.keys(kinds) as SignKind[]

/** A flooding server sends this many times the packets that it receives, which no download does. */
export const ONE_WAY = 4

/** The windows in which accounts created from one network, and accounts paid with one card, are counted. */
export const NETWORK_MS = 7 * DAY_MS
export const CARD_MS = 90 * DAY_MS

/** A sign that reappears after a longer gap counts as a new one. */
export const GAP_MS = HOUR_MS

/** Limits how many days signs are kept after they were last seen, and how many an account's servers keep. */
export const KEPT_DAYS = 30
export const MOST_OF_ACCOUNT = 200
