import type { DocumentContent } from './schema.ts'

const HEADER = 'number,period,line,project,item_type,item_id,name,hours,created_at,amount_rub'

interface Line {
  line: string
  project?: string | null
  itemType?: string
  itemId?: string
  name?: string
  hours?: number
  createdAt?: string
  amount: string
}

/** A document as CSV (RFC 4180): a row for each line, sum and balance. */
export function documentCsv(content: DocumentContent): string {
  const { number, period } = content
  const rows = linesOf(content).map(
    ({ line, project, itemType = '', itemId = '', name = '', hours, createdAt = '', amount }) =>
      [
        ...[number, period, line, field(project ?? ''), itemType, itemId, field(name)],
        ...[hours?.toFixed(4) ?? '', createdAt, amount], // not money: hours
      ].join(','),
  )
  return [HEADER, ...rows, ''].join('\r\n')
}

function linesOf(content: DocumentContent): Line[] {
  const items = content.projects.flatMap(({ name: project, items, more_items }): Line[] => [
    ...items.map(({ item_type, item_id, name, hours, amount_rub }) => ({
      ...{ line: 'item', project, itemType: item_type, itemId: item_id, name, hours, amount: amount_rub },
    })),
    ...more_items.map(({ item_type, items, hours, amount_rub }) => ({
      ...{ line: 'more_items', project, itemType: item_type, name: String(items), hours, amount: amount_rub },
    })),
  ])
  const booked = content.entries.map(({ type, description, created_at, amount_rub }) => ({
    ...{ line: type, name: description, createdAt: created_at, amount: amount_rub },
  }))
  const more = content.more_entries.map(({ type, entries, amount_rub }) => ({
    ...{ line: `more_${type}s`, name: String(entries), amount: amount_rub },
  }))
  return [
    { line: 'opening_balance', amount: content.opening_balance_rub },
    ...items,
    ...booked,
    ...more,
    { line: 'net', amount: content.net_rub },
    { line: 'vat', amount: content.vat_rub },
    { line: 'total', amount: content.total_rub },
    { line: 'closing_balance', amount: content.closing_balance_rub },
  ]
}

/** Quotes a text. Spreadsheets would carry out one that begins like a formula, so it gets an apostrophe. */
function field(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
