import { ApiError, bodyIssue, invalid } from '../../http/contract/problem.ts'
import { formatMoney, parseMoney, UNITS_PER_KOPECK, wholeTimes } from '../../money.ts'
import {
  type CorrectionContent,
  type CorrectionOrder,
  type DocumentContent,
  documentProblems,
} from './schema.ts'
import { type Sums, sumsOf } from './vat.ts'

type Line = CorrectionContent['correction']['lines'][number]

/** The change of an invoice by a correction, below zero in a credit note. Units. */
export interface Adjustment {
  lines: Line[]
  charges: number
  change: Sums
  before: Sums
  after: Sums
}

/**
 * Checks a correction against an invoice and its earlier corrections. Its VAT is the difference between the VAT of
 * the whole invoice before and after it, so that rounding errors do not add up.
 * @throws ApiError correction_too_large; validation_failed for an item that the invoice does not name
 */
export function adjust(
  original: DocumentContent,
  earlier: readonly CorrectionContent[],
  { type, lines: wanted }: Pick<CorrectionOrder, 'type' | 'lines'>,
): Adjustment {
  const sign = type === 'credit_note' ? -1 : 1
  const left = itemsOf(original, earlier)
  const lines = wanted.map(({ item_id, amount_rub }, at): Line => {
    const amount = sign * parseMoney(amount_rub)
    if (item_id === undefined)
      return { item_type: null, item_id: null, name: null, amount_rub: formatMoney(amount) }
    const item = left.get(item_id)
    if (!item) throw invalid([bodyIssue(`lines.${at}.item_id`, 'not_found', NO_LINE)])
    item.amount += amount
    if (item.amount < 0) throw tooLarge(`"${item.name}"`, item.amount - amount)
    const { item_type, name } = item
    return { item_type, item_id, name, amount_rub: formatMoney(amount) }
  })
  const charges = lines.reduce((sum, { amount_rub }) => sum + parseMoney(amount_rub), 0)
  const charged = [original, ...earlier].reduce((sum, { charges_rub }) => sum + parseMoney(charges_rub), 0)
  if (charged + charges < 0) throw tooLarge('The document', charged)
  const before = parsed(earlier.at(-1)?.correction.after ?? original)
  const after = sumsOf(charged + charges, vatOf(original))
  return { lines, charges, before, after, change: difference(after, before) }
}

const NO_LINE = 'must be an item that has a line in the document; leave it out for the others.'

/** The charges for each item of an invoice, with its earlier corrections. Units. */
function itemsOf(original: DocumentContent, earlier: readonly CorrectionContent[]) {
  const items = new Map<string, Pick<Line, 'item_type' | 'name'> & { amount: number }>()
  // An item that was moved has a line in each of its projects.
  for (const { item_type, item_id, name, amount_rub } of original.projects.flatMap(({ items }) => items)) {
    const amount = (items.get(item_id)?.amount ?? 0) + parseMoney(amount_rub)
    items.set(item_id, { item_type, name, amount })
  }
  for (const { item_id, amount_rub } of earlier.flatMap(({ correction }) => correction.lines)) {
    const item = items.get(item_id ?? '')
    if (item) item.amount += parseMoney(amount_rub)
  }
  return items
}

function tooLarge(of: string, left: number): ApiError {
  return new ApiError(
    documentProblems.correction_too_large,
    `Nothing was issued: ${of} has ${formatMoney(left)} rubles of charges left.`,
  )
}

function parsed(sums: Pick<DocumentContent, 'net_rub' | 'vat_rub' | 'total_rub'>): Sums {
  return { net: parseMoney(sums.net_rub), vat: parseMoney(sums.vat_rub), total: parseMoney(sums.total_rub) }
}

function vatOf({ vat }: DocumentContent) {
  // A percent has two decimals at most, so that the division is exact.
  return vat && { rate: wholeTimes(parseMoney(vat.percent), UNITS_PER_KOPECK), isIncluded: vat.is_included }
}

function difference(after: Sums, before: Sums): Sums {
  return { net: after.net - before.net, vat: after.vat - before.vat, total: after.total - before.total }
}
