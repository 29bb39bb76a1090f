import type { CorrectionContent, DocumentFile } from './schema.ts'
import { type Sheet, SMALL } from './sheet.ts'
import { amountOf, dayOf, textOf } from './text.ts'

type Correction = CorrectionContent['correction']

/** Prints how a correction changes its invoice: why, by which lines, and the sums before and after it. */
export async function change(sheet: Sheet, details: DocumentFile, correction: Correction): Promise<void> {
  const t = textOf(details.language)
  sheet.line(`${t.reason}: ${correction.reason}`)
  sheet.gap()
  await lines(sheet, details, correction)
  await sums(sheet, details, correction)
  await balance(sheet, details)
}

async function lines(
  sheet: Sheet,
  { language }: DocumentFile,
  { lines: changes }: Correction,
): Promise<void> {
  const t = textOf(language)
  await sheet.row({ text: t.item, amount: t.amount, isBold: true })
  sheet.rule()
  for (const { item_type, name, amount_rub } of changes) {
    const text = item_type === null ? t.entries.correction : `${t.items[item_type]} ${name ?? ''}`
    await sheet.row({ text, amount: signed(language, amount_rub) })
  }
  sheet.gap()
}

async function sums(sheet: Sheet, details: DocumentFile, { before, after }: Correction): Promise<void> {
  const { language, vat } = details
  const t = textOf(language)
  const row = (text: string, sum: 'net_rub' | 'vat_rub' | 'total_rub', isBold = false) =>
    sheet.row({
      ...{ text, isBold, first: amountOf(language, before[sum]) },
      second: signed(language, details[sum]),
      amount: amountOf(language, after[sum]),
    })
  await sheet.row({
    ...{ text: t.amount, first: t.before, second: t.change, amount: t.afterwards, isBold: true },
  })
  sheet.rule()
  if (vat) {
    await row(t.net, 'net_rub')
    await row(t.vat(vat.percent), 'vat_rub')
  }
  await row(t.total, 'total_rub', true)
  sheet.gap(4)
  if (vat) sheet.line(vat.is_included ? t.isIncluded : t.isAddedToChange, { size: SMALL })
  else sheet.line(t.noVat, { size: SMALL })
  sheet.gap()
}

async function balance(sheet: Sheet, details: DocumentFile): Promise<void> {
  const { language, issued_at, total_rub } = details
  const t = textOf(language)
  await sheet.row({ text: t.balance, amount: t.amount, isBold: true })
  sheet.rule()
  await sheet.row({ text: t.balanceBefore, amount: amountOf(language, details.opening_balance_rub) })
  await sheet.row({
    ...{ text: `${t.entries.correction}, ${dayOf(language, issued_at)}`, indent: 10 },
    amount: signed(language, negated(total_rub)),
  })
  sheet.gap(2)
  await sheet.row({
    text: t.balanceAfter,
    amount: amountOf(language, details.closing_balance_rub),
    isBold: true,
  })
}

/** A change, with its sign. */
function signed(language: DocumentFile['language'], rubles: string): string {
  const isRise = !rubles.startsWith('-') && /[1-9]/.test(rubles)
  return `${isRise ? '+' : ''}${amountOf(language, rubles)}`
}

function negated(rubles: string): string {
  if (rubles.startsWith('-')) return rubles.slice(1)
  return /[1-9]/.test(rubles) ? `-${rubles}` : rubles
}
