import type { Clock } from '../clock.ts'
import type { Queries } from '../database/database.ts'
import type { RecentReads } from '../database/replica.ts'
import { isoTime, LAST_MOMENT } from '../http/contract/fields.ts'
import { type Issue, invalid, queryIssue } from '../http/contract/problem.ts'
import type { MetricsQuery, ServerMetrics } from './schema.ts'
import { type SeriesType, seriesTable, seriesTypes } from './series.ts'
import { averages, findMeter, latestSample, type Piece } from './store.ts'
import { LONGEST_SPAN, tiers } from './tiers.ts'

const HOUR_MS = 3_600_000
const FIRST_MOMENT = Date.parse('0000-01-01T00:00:00Z')
/** The number of points that fit on a chart. */
const FEW_POINTS = 200
/** The most points in a reply; beyond that the step becomes longer. */
export const MAX_POINTS = 2_000
/** Round steps for people: seconds, minutes, hours. */
const NICE_STEPS = [10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400]

export interface MetricsOptions {
  recent: RecentReads
  clock: Clock
  /** The interval of measurements: a shorter step may contain no sample. */
  sampleSeconds: number
}

/**
 * Returns a server's usage over time. A point stands for the step that begins with it; points are at multiples of the
 * step since the epoch.
 * @throws ApiError validation_failed
 */
export async function serverMetrics(
  { recent, clock, sampleSeconds }: MetricsOptions,
  serverId: string,
  query: MetricsQuery,
): Promise<ServerMetrics> {
  const now = clock.now()
  const { start, end } = spanOf(query, now)
  const types = (query.type ?? seriesTypes.join()).split(',')
  const issues = [...spanIssues(start, end), ...typeIssues(types)]
  if (issues.length > 0) throw invalid(issues)
  // Chooses the finest samples that reach back this far. The coarsest tier may have lost some, and all older
  // samples are deleted.
  const tier = tiers.find(({ keptFor }) => start >= now - keptFor * 1000) ?? tiers[2]
  const step = stepOf((end - start) / 1000, query.step, Math.max(tier.resolution, sampleSeconds))
  const [from, until] = [Math.ceil(start / 1000 / step) * step, Math.ceil(end / 1000)]
  const wanted = seriesTable.filter(({ type }) => types.includes(type))
  const columns = wanted.map(({ column }) => column)
  const rows = await recent(async (db) => {
    const meter = await findMeter(db, serverId)
    if (!meter) return []
    const pieces = await piecesOf(db, meter.series, tier.resolution, { from, until, sampleSeconds })
    return averages(db, meter.series, pieces, step, columns)
  })
  const byTime = new Map(rows.map((row) => [row.at, row]))
  const times = Array.from(
    { length: Math.max(0, Math.ceil((until - from) / step)) },
    (_, at) => from + at * step,
  )
  return {
    server_id: serverId,
    start: isoTime(start),
    end: isoTime(end),
    step,
    series: wanted.map(({ name, type, unit, column, scale }) => ({
      name,
      type,
      unit,
      points: times.map((at) => [at, scaled(byTime.get(at)?.[column], scale)]),
    })),
  }
}

/** Returns the existing samples of a tier, and the finest samples after them. */
async function piecesOf(
  db: Queries,
  series: number,
  resolution: number,
  { from, until, sampleSeconds }: { from: number; until: number; sampleSeconds: number },
): Promise<[Piece, Piece]> {
  const newest = await latestSample(db, series, resolution)
  const cut = newest ? newest.at + resolution : from
  const finest = tiers[0].resolution
  const seconds = resolution === finest ? sampleSeconds : resolution
  return [
    { resolution, seconds, from, until: Math.min(until, cut) },
    { resolution: finest, seconds: sampleSeconds, from: Math.max(from, cut), until },
  ]
}

function spanOf(query: MetricsQuery, now: number): { start: number; end: number } {
  const end = query.end === undefined ? now : Date.parse(query.end)
  return { start: query.start === undefined ? end - HOUR_MS : Date.parse(query.start), end }
}

function spanIssues(start: number, end: number): Issue[] {
  for (const [name, time] of Object.entries({ end, start })) {
    // RFC 3339 has leap seconds, 23:59:60, but JavaScript does not.
    if (Number.isNaN(time)) return [queryIssue(name, 'invalid_format', `${name} must not be a leap second.`)]
    // An offset, or the hour before `end`, can lead to a year that RFC 3339 can't express.
    if (time < FIRST_MOMENT || time > LAST_MOMENT)
      return [queryIssue(name, 'invalid_format', `${name} must be in the years 0000 to 9999 of UTC.`)]
  }
  if (end <= start) return [queryIssue('end', 'below_minimum', 'end must be later than start.')]
  if (end - start > LONGEST_SPAN * 1000)
    return [queryIssue('start', 'below_minimum', 'start must be at most 30 days before end.')]
  return []
}

function typeIssues(types: readonly string[]): Issue[] {
  const isKnown = (type: string): type is SeriesType => seriesTypes.some((known) => known === type)
  const message = `type must be one or more of ${seriesTypes.join(', ')}, separated by commas.`
  return types.every(isKnown) ? [] : [queryIssue('type', 'not_in_enum', message)]
}

/** The requested step, or a longer one if samples are further apart or there would be too many points. */
function stepOf(seconds: number, asked: number | undefined, apart: number): number {
  const least = Math.max(apart, seconds / (asked === undefined ? FEW_POINTS : MAX_POINTS))
  if (asked !== undefined && asked >= least) return asked
  return NICE_STEPS.find((step) => step >= least) ?? LONGEST_SPAN
}

/** Rounds to hundredths: more digits would suggest a precision that does not exist. */
function scaled(value: number | null | undefined, scale: number): number | null {
  return typeof value === 'number' ? Math.round(value * scale * 100) / 100 : null
}

/** The servers that samples may exist for; the SQL of servers joins it. */
export function meteredServers(db: Queries) {
  return db.selectFrom('meters').select('server_id')
}
