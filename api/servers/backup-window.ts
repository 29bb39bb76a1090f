const HOUR_MS = 3600_000
const DAY_MS = 24 * HOUR_MS
/** Backups begin at night unless the customer chooses an hour: the first hours of the day, UTC. */
const NIGHT_HOURS = 6

/** The first time after a moment at which an hour of the day begins. */
export function nextWindow(hour: number, after: number): number {
  const today = after - (after % DAY_MS) + hour * HOUR_MS
  return today > after ? today : today + DAY_MS
}

/** The hour of a server whose customer chose none, which spreads servers over the night. */
export function usualHour(serverId: string): number {
  return Number.parseInt(serverId.slice(-4), 16) % NIGHT_HOURS
}

/** True in the hours in which hosts do what customers should not notice. */
export function isNight(at: number): boolean {
  return at % DAY_MS < NIGHT_HOURS * HOUR_MS
}
