import { createRequire } from 'node:module'
import { Semaphore } from '../../concurrency.ts'
import { isoTime } from '../../http/contract/fields.ts'
import type { DocumentDetails } from './schema.ts'
import { amountOf, dayOf, monthOf, textOf } from './text.ts'

// Points, on A4.
const [LEFT, RIGHT, TOP, BOTTOM] = [50, 545, 50, 780]
const [HOURS_AT, AMOUNT_AT] = [350, 440]
const [SMALL, NORMAL, LARGE] = [8, 9, 16]
const ROW = 14

/** A long document takes a second of the processor, and as many megabytes as it has pages: they wait for each other. */
const printing = new Semaphore(1)

/** A document as PDF. The same document always has the same bytes. */
export function documentPdf(details: DocumentDetails): Promise<Buffer> {
  return printing.run(() => print(details))
}

async function print(details: DocumentDetails): Promise<Buffer> {
  // The library and its fonts take memory that most processes never need.
  const { default: Pdf } = await import('pdfkit')
  const { language, number, issued_at } = details
  const pdf = new Pdf({
    size: 'A4',
    margin: 0,
    bufferPages: true,
    lang: language,
    // Otherwise the bytes would depend on the time of the rendering.
    info: { Title: number, CreationDate: new Date(issued_at) },
  })
  const sheet = new Sheet(pdf)
  heading(sheet, details)
  await charges(sheet, details)
  await sums(sheet, details)
  await balance(sheet, details)
  return sheet.end(details)
}

interface Row {
  text: string
  hours?: string
  amount?: string
  isBold?: boolean
  indent?: number
}

/** Pages that are written from top to bottom. */
class Sheet {
  readonly #pdf: PDFKit.PDFDocument
  readonly #parts: Buffer[] = []
  #y = TOP

  constructor(pdf: PDFKit.PDFDocument) {
    const { resolve } = createRequire(import.meta.url)
    this.#pdf = pdf
    pdf.on('data', (part: Buffer) => this.#parts.push(part))
    pdf.registerFont('normal', resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'))
    pdf.registerFont('bold', resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'))
  }

  line(text: string, { isBold = false, size = NORMAL } = {}): void {
    const width = RIGHT - LEFT
    this.#use(isBold, size)
    const height = this.#pdf.heightOfString(text, { width })
    if (this.#y + height > BOTTOM) this.#breakPage()
    this.#pdf.text(text, LEFT, this.#y, { width })
    this.gap(height + 2)
  }

  async row({ text, hours = '', amount = '', isBold = false, indent = 0 }: Row): Promise<void> {
    if (this.#y + ROW > BOTTOM) {
      this.#breakPage()
      // Requests must not wait for all pages.
      await new Promise(setImmediate)
    }
    this.#use(isBold, NORMAL)
    const at = LEFT + indent
    this.#pdf.text(text, at, this.#y, { width: HOURS_AT - at - 10, height: ROW - 2, ellipsis: true })
    this.#number(hours, HOURS_AT, AMOUNT_AT - 10)
    this.#number(amount, AMOUNT_AT, RIGHT)
    this.gap(ROW)
  }

  gap(height = ROW): void {
    this.#y += height
  }

  rule(): void {
    this.#pdf.moveTo(LEFT, this.#y).lineTo(RIGHT, this.#y).lineWidth(1).strokeColor('#999999').stroke()
    this.gap(4)
  }

  /** Writes the foot of each page. @returns the file */
  async end({ language, sha256 }: DocumentDetails): Promise<Buffer> {
    const t = textOf(language)
    const { count } = this.#pdf.bufferedPageRange()
    this.#y = BOTTOM + 20
    for (let page = 0; page < count; page++) {
      this.#pdf.switchToPage(page)
      this.#use(false, SMALL)
      this.#pdf.text(t.hash(sha256), LEFT, this.#y, { lineBreak: false })
      this.#number(t.page(page + 1, count), AMOUNT_AT, RIGHT)
    }
    const ended = new Promise<void>((resolve) => this.#pdf.once('end', resolve))
    this.#pdf.end()
    await ended
    return Buffer.concat(this.#parts)
  }

  #use(isBold: boolean, size: number): void {
    this.#pdf.font(isBold ? 'bold' : 'normal').fontSize(size)
  }

  #number(text: string, from: number, until: number): void {
    this.#pdf.text(text, from, this.#y, { width: until - from, align: 'right', lineBreak: false })
  }

  #breakPage(): void {
    this.#pdf.addPage()
    this.#y = TOP
  }
}

function heading(sheet: Sheet, details: DocumentDetails): void {
  const { type, number, issued_at, period, language, seller, customer } = details
  const t = textOf(language)
  sheet.line(t.title(t.types[type], number, dayOf(language, issued_at)), { isBold: true, size: LARGE })
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

async function charges(sheet: Sheet, { projects, language }: DocumentDetails): Promise<void> {
  if (projects.length === 0) return
  const t = textOf(language)
  const money = (rubles: string) => amountOf(language, rubles)
  const hoursOf = (hours: number) => amountOf(language, hours.toFixed(2)) // not money: hours
  await sheet.row({ text: t.item, hours: t.hours, amount: t.amount, isBold: true })
  sheet.rule()
  for (const { name, amount_rub, items, more_items } of projects) {
    await sheet.row({ text: name ?? t.deletedProject, amount: money(amount_rub), isBold: true })
    for (const { item_type, name, hours, amount_rub } of items) {
      const text = `${t.items[item_type]} ${name}`
      await sheet.row({ text, hours: hoursOf(hours), amount: money(amount_rub), indent: 10 })
    }
    for (const { item_type, items: count, hours, amount_rub } of more_items) {
      const text = `${t.items[item_type]}: ${t.more(count)}`
      await sheet.row({ text, hours: hoursOf(hours), amount: money(amount_rub), indent: 10 })
    }
  }
  sheet.gap(4)
}

async function sums(sheet: Sheet, details: DocumentDetails): Promise<void> {
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

async function balance(sheet: Sheet, details: DocumentDetails): Promise<void> {
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
