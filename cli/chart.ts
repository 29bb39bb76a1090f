/** Draws numbers with block characters. */

const BLOCKS = '▁▂▃▄▅▆▇█'
/** Rows of a chart. */
const ROWS = 4
/** Fixed, so that the time axes of several charts line up; fits the label `1023.9 MiB/s`. */
const GUTTER = 12
/** A narrower chart would be unreadable. */
const NARROWEST = 10

export interface ChartOptions {
  /** Maximum characters per line. */
  width: number
  /** Formats a value with its unit. */
  label(value: number): string
  /** Start and end time, as shown below the axis. */
  start: string
  end: string
}

/** The lines of a chart from 0 to the largest value; unknown values are blank, 0 is not. */
export function chart(values: (number | null)[], { width, label, start, end }: ChartOptions): string[] {
  const columns = Math.max(NARROWEST, width - GUTTER - 2)
  const shown = spread(values, columns)
  const known = shown.filter((value) => value !== null)
  const top = Math.max(0, ...known)
  const rows = Array.from({ length: ROWS }, (_, at) => {
    const bottom = (ROWS - 1 - at) * BLOCKS.length
    return shown.map((value) => blockOf(value, top, bottom)).join('')
  })
  const topLabel = known.length === 0 ? '-' : label(top)
  const axis = (at: number) => (at === 0 ? topLabel : at === ROWS - 1 ? label(0) : '')
  return [
    ...rows.map((row, at) => `${axis(at).padStart(GUTTER)} ┤${row}`.trimEnd()),
    `${' '.repeat(GUTTER)} └${'─'.repeat(columns)}`,
    ...times(start, end, columns).map((line) => `${' '.repeat(GUTTER + 2)}${line}`),
  ]
}

/** One value per column: the largest known value in its span, so that no peak is lost. */
function spread(values: (number | null)[], columns: number): (number | null)[] {
  const edge = (column: number) => Math.floor((column * values.length) / columns)
  return Array.from({ length: columns }, (_, column) => {
    const known = values
      .slice(edge(column), Math.max(edge(column + 1), edge(column) + 1))
      .filter((value) => value !== null && Number.isFinite(value))
    return known.length === 0 ? null : Math.max(...known.map(Number))
  })
}

/** The mean of the known values; null if there are none. */
export function mean(values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null && Number.isFinite(value))
  if (known.length === 0) return null
  // Divided one by one: the sum could overflow.
  return known.reduce((sum: number, value) => sum + (value ?? 0) / known.length, 0)
}

/** The part of a column within the row that starts `bottom` eighths above the axis. */
function blockOf(value: number | null, top: number, bottom: number): string {
  if (value === null) return ' '
  const height = top === 0 ? 0 : Math.round((Math.max(0, value) / top) * ROWS * BLOCKS.length)
  const within = Math.max(1, height) - bottom
  return within <= 0 ? ' ' : (BLOCKS[Math.min(within, BLOCKS.length) - 1] ?? ' ')
}

/** Both times on one line, or on two if they do not fit. */
function times(start: string, end: string, columns: number): string[] {
  const between = columns - start.length - end.length
  return between > 0 ? [start + ' '.repeat(between) + end] : [start, end.padStart(columns)]
}

/** A bar for a fraction of 1; empty if it is unknown. */
export function gauge(fraction: number | null, cells = 10): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction ?? 0)) * cells)
  return '█'.repeat(full) + '░'.repeat(cells - full)
}
