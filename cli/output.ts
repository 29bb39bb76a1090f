export type Format = 'table' | 'json'

/** Titles of the columns with what each shows of an item. */
export type Columns<Item> = Record<string, (item: Item) => string | number | null>

/** Shows a list as a table for people, or as JSON for programs. */
export function printList<Item>(format: Format, items: Item[], columns: Columns<Item>): void {
  const row = (item: Item) => Object.values(columns).map((show) => text(show(item)))
  console.log(format === 'json' ? json(items) : table([Object.keys(columns), ...items.map(row)]))
}

/** Shows one thing: a line for each part that people ask for, or the whole as JSON. */
export function print<Item>(format: Format, item: Item, parts: Columns<Item>): void {
  const rows = Object.entries(parts).map(([title, show]) => [`${title}:`, text(show(item))])
  console.log(format === 'json' ? json(item) : table(rows))
}

const json = (value: unknown) => JSON.stringify(value, null, 2)

// Names and descriptions are customers' words: what moves a terminal's cursor is not shown.
const text = (value: string | number | null) =>
  value === null ? '-' : String(value).replace(/\p{Cc}/gu, '\uFFFD')

function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
