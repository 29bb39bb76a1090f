import { csvField } from '../csv-field.ts'
import type { CorrectionContent, DocumentFile } from './schema.ts'

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
export function documentCsv(content: DocumentFile): string {
  const { number, period } = content
  const { correction } = content
  const lines = correction ? correctionLines(content, correction) : linesOf(content)
  const rows = lines.map(
    ({ line, project, itemType = '', itemId = '', name = '', hours, createdAt = '', amount }) =>
      [
        ...[number, period, line, csvField(project ?? ''), itemType, itemId, csvField(name)],
        ...[hours?.toFixed(4) ?? '', createdAt, amount], // not money: hours
      ].join(','),
  )
  return [HEADER, ...rows, ''].join('\r\n')
}

function linesOf(content: DocumentFile): Line[] {
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

function correctionLines(
  { corrects, net_rub, vat_rub, total_rub, ...content }: DocumentFile,
  { reason, lines, before, after }: CorrectionContent['correction'],
): Line[] {
  const corrected = { name: corrects?.number ?? '', createdAt: corrects?.issued_at ?? '' }
  return [
    { line: 'opening_balance', amount: content.opening_balance_rub },
    { line: 'corrected_document', ...corrected, amount: before.total_rub },
    ...lines.map(({ item_type, item_id, name, amount_rub }) => ({
      ...{ line: item_id === null ? 'correction' : 'item', itemType: item_type ?? '', itemId: item_id ?? '' },
      ...{ name: name ?? '', amount: amount_rub },
    })),
    { line: 'net', amount: net_rub },
    { line: 'vat', amount: vat_rub },
    { line: 'total', name: reason, amount: total_rub },
    { line: 'corrected_total', amount: after.total_rub },
    { line: 'closing_balance', amount: content.closing_balance_rub },
  ]
}
