import { isoTime } from '../../http/contract/fields.ts'
import { change } from './correction-pdf.ts'
import type { DocumentFile } from './schema.ts'
import { LARGE, printed, type Sheet, SMALL } from './sheet.ts'
import { amountOf, dayOf, monthOf, textOf } from './text.ts'

/** A document as PDF. The same document always has the same bytes. */
export function documentPdf(details: DocumentFile): Promise<Buffer> {
  const { language, number, issued_at, sha256, correction, customer } = details
  const t = textOf(language)
  return printed(
    { accountId: customer.account_id, title: number, language, at: Date.parse(issued_at) },
    async (sheet) => {
      heading(sheet, details)
      if (correction) return change(sheet, details, correction)
      await charges(sheet, details)
      await sums(sheet, details)
      await balance(sheet, details)
    },
    { text: t.hash(sha256), page: t.page },
  )
}

function heading(sheet: Sheet, details: DocumentFile): void {
  const { type, number, issued_at, period, language, seller, customer, corrects } = details
  const t = textOf(language)
  sheet.line(t.title(t.types[type], number, dayOf(language, issued_at)), { isBold: true, size: LARGE })
  if (corrects)
    sheet.line(t.corrects(corrects.number, dayOf(language, corrects.issued_at), type === 'debit_note'), {
      isBold: true,
    })
  sheet.line(t.period(monthOf(language, period)))
  sheet.gap()
  sheet.line(t.seller, { isBold: true })
  sheet.line(seller.name)
  sheet.line(seller.address)
  sheet.line(t.taxId(seller.tax_id))
  sheet.gap()
  sheet.line(t.customer, { isBold: true })
  sheet.line(customer.name)
  sheet.line(customer.email)
  sheet.line(t.account(customer.account_id))
  sheet.gap()
}

async function charges(sheet: Sheet, { projects, language }: DocumentFile): Promise<void> {
  if (projects.length === 0) return
  const t = textOf(language)
  const money = (rubles: string) => amountOf(language, rubles)
  const hoursOf = (hours: number) => amountOf(language, hours.toFixed(2)) // not money: hours
  await sheet.row({ text: t.item, second: t.hours, amount: t.amount, isBold: true })
  sheet.rule()
  for (const { name, amount_rub, items, more_items } of projects) {
    await sheet.row({ text: name ?? t.deletedProject, amount: money(amount_rub), isBold: true })
    for (const { item_type, name, hours, amount_rub } of items) {
      const text = `${t.items[item_type]} ${name}`
      await sheet.row({ text, second: hoursOf(hours), amount: money(amount_rub), indent: 10 })
    }
    for (const { item_type, items: count, hours, amount_rub } of more_items) {
      const text = `${t.items[item_type]}: ${t.more(count)}`
      await sheet.row({ text, second: hoursOf(hours), amount: money(amount_rub), indent: 10 })
    }
  }
  sheet.gap(4)
}

async function sums(sheet: Sheet, details: DocumentFile): Promise<void> {
  const { projects, language, vat, net_rub, vat_rub, total_rub } = details
  if (projects.length === 0) return
  const t = textOf(language)
  const money = (rubles: string) => amountOf(language, rubles)
  sheet.rule()
  if (vat) {
    await sheet.row({ text: t.net, amount: money(net_rub) })
    await sheet.row({ text: t.vat(vat.percent), amount: money(vat_rub) })
  }
  await sheet.row({ text: t.total, amount: money(total_rub), isBold: true })
  sheet.gap(4)
  if (vat) sheet.line(vat.is_included ? t.isIncluded : t.isAdded, { size: SMALL })
  else sheet.line(t.noVat, { size: SMALL })
  sheet.gap()
}

async function balance(sheet: Sheet, details: DocumentFile): Promise<void> {
  const { language, period, entries, more_entries } = details
  const t = textOf(language)
  const money = (rubles: string) => amountOf(language, rubles)
  await sheet.row({ text: t.balance, amount: t.amount, isBold: true })
  sheet.rule()
  const first = dayOf(language, isoTime(Date.parse(`${period}-01`)))
  await sheet.row({ text: t.opening(first), amount: money(details.opening_balance_rub) })
  for (const { type, description, created_at, amount_rub } of entries) {
    const text = `${t.entries[type]}, ${dayOf(language, created_at)}: ${description}`
    await sheet.row({ text, amount: money(amount_rub), indent: 10 })
  }
  for (const { type, entries: count, amount_rub } of more_entries)
    await sheet.row({ text: `${t.entries[type]}: ${t.more(count)}`, amount: money(amount_rub), indent: 10 })
  if (details.projects.length > 0) {
    const spent = details.charges_rub === '0.00' ? '0.00' : `-${details.charges_rub}`
    await sheet.row({ text: t.charges, amount: money(spent), indent: 10 })
  }
  sheet.gap(2)
  await sheet.row({ text: t.closing, amount: money(details.closing_balance_rub), isBold: true })
}
