import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { Refusal } from './errors.ts'

export const formats = ['table', 'json', 'yaml', 'name'] as const
export type Format = (typeof formats)[number]

export type Cell = string | number | boolean | null | undefined

/** The value of each column, or of each line of a card. */
export type Columns<Item> = Record<string, (item: Item) => Cell>

export interface TableOptions {
  /** Columns to show, in this order. */
  columns: string[]
  /** A column, followed by `:desc` for descending order. */
  sort?: string | undefined
  header?: boolean | undefined
}

/** Shows a list as a table, JSON, YAML or names. @throws Refusal for an unknown column */
export async function showList<Item extends object>(
  out: Writable,
  format: Format,
  items: Item[],
  columns: Columns<Item>,
  { columns: shown, sort, header = true }: TableOptions,
): Promise<void> {
  const sorted = sort === undefined ? items : sortBy(items, columns, sort)
  if (format !== 'table') return void out.write(await asText(format, sorted))
  const show = shown.map((name) => ({ name, column: columnNamed(columns, name) }))
  const rows = sorted.map((item) => show.map(({ name, column }) => part(name, column(item), out)))
  const titles = shown.map((name) => styled(name.toUpperCase().replaceAll('_', ' '), 'bold', out))
  out.write(await aligned(header ? [titles, ...rows] : rows))
}

/** Shows one object: selected parts, a line each, or all of it as JSON or YAML. */
export async function showOne<Item extends object>(
  out: Writable,
  format: Format,
  item: Item,
  parts: Columns<Item>,
): Promise<void> {
  if (format !== 'table') return void out.write(await asText(format, item))
  out.write(await cardOf(item, parts, out))
}

/** The lines that showOne prints. @param out the stream that they will be written to */
export function cardOf<Item>(item: Item, parts: Columns<Item>, out: Writable): Promise<string> {
  return aligned(Object.entries(parts).map(([title, show]) => [`${title}:`, part(title, show(item), out)]))
}

/** Shows one object and, in the table format, a table of its items below. */
export async function showWithItems<Whole extends object, Item extends object>(
  out: Writable,
  format: Format,
  whole: { item: Whole; parts: Columns<Whole> },
  { items, columns }: { items: Item[]; columns: Columns<Item> },
): Promise<void> {
  await showOne(out, format, whole.item, whole.parts)
  if (format !== 'table') return
  out.write('\n')
  await showList(out, format, items, columns, { columns: Object.keys(columns) })
}

/** Shows one item of a stream: a line each, or JSON Lines. */
export async function showNext<Item extends object>(
  out: Writable,
  format: Format,
  item: Item,
  parts: Columns<Item>,
): Promise<void> {
  if (format === 'json') return void out.write(jsonLine(item))
  if (format === 'yaml') return void out.write(`---\n${await asText(format, item)}`)
  if (format === 'name') return void out.write(await asText(format, item))
  const row = Object.values(parts).map((part) => cell(part(item)))
  out.write(`${row.join('  ').trimEnd()}\n`)
}

/** Shows text that is already formatted, such as CSV. */
export function showText(out: Writable, text: string): void {
  out.write(
    text
      .split(/(\r?\n)/)
      .map((piece) => (/^\r?\n$/.test(piece) ? piece : printable(piece)))
      .join(''),
  )
}

async function asText(format: Exclude<Format, 'table'>, value: object): Promise<string> {
  if (format === 'json') return `${json(value, 2)}\n`
  if (format === 'yaml') return asYaml(value)
  return [value]
    .flat()
    .map((item) => `${nameOf(item)}\n`)
    .join('')
}

export const jsonLine = (value: object): string => `${json(value)}\n`

const json = (value: object, indent?: number): string => escaped(JSON.stringify(value, null, indent))

/** Block scalars lose a line of spaces, and quoted ones of several lines get a backslash there. */
const ONE_LINE = { blockQuote: false, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER }

async function asYaml(value: object): Promise<string> {
  const { stringify } = await import('yaml')
  const text = stringify(value, ONE_LINE)
  if (text.replaceAll('\n', '').search(UNPRINTABLE) < 0) return text
  // YAML has escapes within double quotes only.
  return escaped(stringify(value, { ...ONE_LINE, defaultStringType: 'QUOTE_DOUBLE' }))
}

/** Every object of the API has a name, a slug or, as its first field, an id. */
export function nameOf(item: object): string {
  // Any object may have them.
  const { name, slug } = item as { name?: unknown; slug?: unknown }
  return cell(String(name ?? slug ?? Object.values(item)[0]))
}

function columnNamed<Item>(columns: Columns<Item>, name: string): (item: Item) => Cell {
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined
  if (column) return column
  throw new Refusal(`No such column: ${name}.`, `Columns: ${Object.keys(columns).join(', ')}.`)
}

function sortBy<Item>(items: Item[], columns: Columns<Item>, sort: string): Item[] {
  const [name = '', direction = 'asc'] = sort.split(':')
  if (!/^(asc|desc)$/.test(direction))
    throw new Refusal(`"${sort}" is not a valid sort order.`, 'Use column, column:asc or column:desc.')
  const column = columnNamed(columns, name)
  const { compare } = new Intl.Collator('en', { numeric: true })
  const sorted = items.toSorted((a, b) => compare(String(column(a) ?? ''), String(column(b) ?? '')))
  return direction === 'desc' ? sorted.reverse() : sorted
}

/** Control characters, which can move the cursor, bidi characters, which can disguise text, and halves of characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu

/** Safe for a terminal: names and descriptions are user input. */
export const printable = (text: string) => text.replace(UNPRINTABLE, '\uFFFD')

/** Escaped as in JSON. Line breaks stay: those within strings are escaped already. */
const escaped = (text: string) =>
  text.replace(UNPRINTABLE, (char) =>
    char === '\n' ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** The text of a value in a table or on a line. */
export function cell(value: Cell): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const text = printable(String(value ?? ''))
  return text.trim() === '' ? '-' : text
}

type Style = Parameters<typeof styleText>[0]

/** Unchanged if the stream is not a terminal, or with NO_COLOR. */
export const styled = (text: string, style: Style, stream: Writable) => styleText(style, text, { stream })

/** The others are temporary, and shown in yellow. */
const statusStyles = new Map<string, Style>([
  ['running', 'green'],
  ['active', 'green'],
  ['succeeded', 'green'],
  ['error', 'red'],
  ['failed', 'red'],
  ['stopped', 'dim'],
  ['canceled', 'dim'],
  ['closed', 'dim'],
  ['-', 'dim'],
])

/** The text of a cell; a status is coloured wherever it is shown. */
function part(title: string, value: Cell, out: Writable): string {
  const text = cell(value)
  if (title.toLowerCase() !== 'status') return text
  return styled(text, statusStyles.get(text) ?? 'yellow', out)
}

/** Pads cells to the width of their column. */
async function aligned(rows: string[][]): Promise<string> {
  const { default: stringWidth } = await import('string-width')
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => stringWidth(row[at] ?? ''))))
  const pad = (text: string, at: number) => text + ' '.repeat((widths[at] ?? 0) - stringWidth(text))
  return rows.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('')
}
