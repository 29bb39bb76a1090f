import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { Refusal } from './errors.ts'

export const formats = ['table', 'json', 'yaml', 'name'] as const
export type Format = (typeof formats)[number]

export type Cell = string | number | boolean | null | undefined

/** What each column, or each line of a card, shows of an item. */
export type Columns<Item> = Record<string, (item: Item) => Cell>

export interface TableOptions {
  /** The columns to show, in this order. */
  columns: string[]
  /** A column, and `:desc` after it for the other way round. */
  sort?: string | undefined
  header?: boolean | undefined
}

/** Shows a list as a table for people, or for programs as JSON, YAML or names. @throws Refusal for a column that is none */
export async function showList<Item extends object>(
  out: Writable,
  format: Format,
  items: Item[],
  columns: Columns<Item>,
  { columns: shown, sort, header = true }: TableOptions,
): Promise<void> {
  const sorted = sort === undefined ? items : sortBy(items, columns, sort)
  if (format !== 'table') return void out.write(await asText(format, sorted))
  const show = shown.map((name) => columnNamed(columns, name))
  const rows = sorted.map((item) => show.map((column) => cell(column(item))))
  const titles = shown.map((name) => name.toUpperCase().replaceAll('_', ' '))
  out.write(await lines(header ? [titles, ...rows] : rows, header ? (text) => bold(text, out) : undefined))
}

/** Shows one thing: a line for each part that people ask for, or the whole for programs. */
export async function showOne<Item extends object>(
  out: Writable,
  format: Format,
  item: Item,
  parts: Columns<Item>,
): Promise<void> {
  if (format !== 'table') return void out.write(await asText(format, item))
  const rows = Object.entries(parts).map(([title, show]) => [`${title}:`, cell(show(item))])
  out.write(await lines(rows))
}

async function asText(format: Exclude<Format, 'table'>, value: object): Promise<string> {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`
  if (format === 'yaml') return (await import('yaml')).stringify(value)
  return [value]
    .flat()
    .map((item) => `${nameOf(item)}\n`)
    .join('')
}

/** Everything of the API has a name, a slug or, first of all, an id. */
function nameOf(item: object): string {
  // Any object may have them.
  const { name, slug } = item as { name?: unknown; slug?: unknown }
  return cell(String(name ?? slug ?? Object.values(item)[0]))
}

function columnNamed<Item>(columns: Columns<Item>, name: string): (item: Item) => Cell {
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined
  if (column) return column
  throw new Refusal(`There is no column ${name}.`, `There are: ${Object.keys(columns).join(', ')}.`)
}

function sortBy<Item>(items: Item[], columns: Columns<Item>, sort: string): Item[] {
  const [name = '', direction = 'asc'] = sort.split(':')
  if (!/^(asc|desc)$/.test(direction))
    throw new Refusal(`"${sort}" is no order.`, 'Orders are column, column:asc or column:desc.')
  const column = columnNamed(columns, name)
  const { compare } = new Intl.Collator('en', { numeric: true })
  const sorted = items.toSorted((a, b) => compare(String(column(a) ?? ''), String(column(b) ?? '')))
  return direction === 'desc' ? sorted.reverse() : sorted
}

/** As it can be shown. Names and descriptions are customers' words: what moves a terminal's cursor is not. */
export const cell = (value: Cell) =>
  value === null || value === undefined ? '-' : String(value).replace(/\p{Cc}/gu, '\uFFFD')

const bold = (text: string, stream: Writable) => styleText('bold', text, { stream })

/** Rows in columns as wide as they have to be; @param first how the first row is set off */
async function lines(rows: string[][], first: (text: string) => string = (text) => text): Promise<string> {
  const { default: stringWidth } = await import('string-width')
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => stringWidth(row[at] ?? ''))))
  const pad = (text: string, at: number) => text + ' '.repeat((widths[at] ?? 0) - stringWidth(text))
  const line = (row: string[]) => row.map(pad).join('  ').trimEnd()
  return rows.map((row, at) => `${at === 0 ? first(line(row)) : line(row)}\n`).join('')
}
