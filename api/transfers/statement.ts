import { referencesIn } from './reference.ts'

/** The statement of a busy account for a month is far smaller. */
export const MOST_BYTES = 20 * 2 ** 20

/** The most digits before the decimal point of a sum, as in the operator's API. */
const MOST_DIGITS = 9

/** The columns of a bank's file, by their names in its header. */
export interface Columns {
  /** The columns that identify a transaction; the values of several are joined by dashes. */
  id: readonly string[]
  amount: string
  purpose: string
  currency?: string
}

/** A line of a bank's statement: money that arrived under a reference, or the reason why it cannot be booked. */
export type Line = { line: number; id: string; amount: string } & (
  | { reference: string; reason?: undefined }
  | { reference?: undefined; reason: string }
)

/** A file that cannot be read as a statement. */
export class StatementError extends Error {}

/**
 * Reads a bank's statement: CSV with a header, separated by commas or semicolons.
 * @throws StatementError
 */
export function readStatement(text: string, columns: Columns): Line[] {
  const [head = [], ...rows] = parseCsv(text.replace(/^\uFEFF/, ''))
  const names = head.map((name) => name.trim().toLowerCase())
  const at = (name: string) => {
    const index = names.indexOf(name.trim().toLowerCase())
    if (index < 0 || names.lastIndexOf(names[index] ?? '') !== index)
      throw new StatementError(
        `Not exactly one column is called ${name}. The first line has: ${head.join(', ')}.`,
      )
    return index
  }
  const [ids, amount, purpose] = [columns.id.map(at), at(columns.amount), at(columns.purpose)]
  const currency = columns.currency === undefined ? null : at(columns.currency)
  const known = new Map<string, { line: number; content: string }>()
  return rows.map((row, index) => {
    const cell = (column: number) => row[column]?.trim() ?? ''
    const common = { line: index + 2, id: ids.map(cell).join('-'), amount: cell(amount) }
    if (row.length !== head.length)
      return { ...common, reason: 'its number of cells differs from the first line' }
    if (ids.some((column) => cell(column) === '') || !/^[A-Za-z0-9._/-]{1,100}$/.test(common.id))
      return { ...common, reason: 'invalid id of the transaction' }
    if (currency !== null && !/^(RUB|RUR|643|810)$/i.test(cell(currency)))
      return { ...common, reason: 'other currency' }
    const rubles = rublesOf(common.amount)
    if (rubles === null) return { ...common, reason: 'not an incoming sum' }
    const [reference, ...others] = referencesIn(cell(purpose))
    if (reference === undefined) return { ...common, amount: rubles, reason: 'no reference in the purpose' }
    if (others.length > 0) return { ...common, amount: rubles, reason: 'several references in the purpose' }
    const content = JSON.stringify(row)
    const twin = known.get(common.id) ?? { line: common.line, content }
    known.set(common.id, twin)
    if (twin.content !== content)
      return { ...common, reason: `the id is that of line ${twin.line}, too: give more columns as --id` }
    return { ...common, amount: rubles, reference }
  })
}

/** A sum such as 1 234,50 as a decimal string; null if it is not above zero. */
function rublesOf(text: string): string | null {
  const sum = /^(\d{1,3}(?:[ \u00a0\u202f]\d{3})+|\d{1,12})(?:[.,](\d{1,2}))?$/.exec(text)
  const whole = (sum?.[1] ?? '').replace(/\D/g, '')
  if (!sum || whole.length > MOST_DIGITS) return null
  const rubles = `${whole}.${(sum[2] ?? '').padEnd(2, '0')}`
  return /[1-9]/.test(rubles) ? rubles : null
}

/** Reads CSV (RFC 4180). Empty lines are left out. @throws StatementError */
function parseCsv(text: string): string[][] {
  const end = text.search(/[\r\n]/)
  const delimiter = (end < 0 ? text : text.slice(0, end)).includes(';') ? ';' : ','
  // The pattern matches a cell, quoted or not, with its delimiter or line end.
  const cells = new RegExp(`("(?:[^"]|"")*"|[^"${delimiter}\\r\\n]*)(${delimiter}|\\r?\\n|$)`, 'y')
  const rows: string[][] = []
  let row: string[] = []
  while (cells.lastIndex < text.length) {
    const found = cells.exec(text)
    if (!found) throw new StatementError(`A quote is misplaced after line ${rows.length + 1}.`)
    const [, cell = '', ended] = found
    row.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
    if (ended === delimiter && cells.lastIndex < text.length) continue
    if (ended === delimiter) row.push('')
    if (row.some((content) => content !== '')) rows.push(row)
    row = []
  }
  return rows
}
