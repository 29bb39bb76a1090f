import { createRequire } from 'node:module'
import { FairMutex } from '../../concurrency.ts'
import { ApiError, httpProblems } from '../../http/contract/problem.ts'

// Points, on A4.
const [LEFT, RIGHT, TOP, BOTTOM] = [50, 545, 50, 780]
const [FIRST_AT, SECOND_AT, LAST_AT] = [260, 350, 440]
export const SMALL = 8
export const LARGE = 16
const NORMAL = 9
const ROW = 14

/** A long document takes a second of CPU time and a megabyte for each page, so documents are printed one at a time. */
const printing = new FairMutex()
/** The most documents of an account that are printed or wait, since each is in memory meanwhile. */
const MOST_OF_ACCOUNT = 4

/**
 * Prints a document as PDF, in A4. The same document always has the same bytes. Accounts take turns.
 * @param write fills the pages from top to bottom
 * @param foot the text at the foot of each page, and its number
 * @throws ApiError rate_limited if many documents of the account wait
 */
export async function printed(
  about: { accountId: string; title: string; language: string; at: number },
  write: (sheet: Sheet) => Promise<void>,
  foot: { text: string; page: (number: number, of: number) => string },
): Promise<Buffer> {
  if (printing.callersOf(about.accountId) >= MOST_OF_ACCOUNT)
    throw new ApiError(
      httpProblems.rate_limited,
      `An account can have ${MOST_OF_ACCOUNT} documents printed at once. Wait for one of them.`,
      {},
      { 'retry-after': '5' },
    )
  return printing.run(about.accountId, async () => {
    // The library and its fonts take memory that most processes never need.
    const { default: Pdf } = await import('pdfkit')
    const pdf = new Pdf({
      size: 'A4',
      margin: 0,
      bufferPages: true,
      lang: about.language,
      // A fixed date keeps the bytes independent of the time of printing.
      info: { Title: about.title, CreationDate: new Date(about.at) },
    })
    const sheet = new Sheet(pdf)
    await write(sheet)
    return sheet.end(foot)
  })
}

interface Row {
  text: string
  /** The columns of numbers; `first` is empty unless a table has three. */
  first?: string
  second?: string
  amount?: string
  isBold?: boolean
  indent?: number
}

/** Pages that are written from top to bottom. */
export class Sheet {
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

  line(text: string, { isBold = false, size = NORMAL }: { isBold?: boolean; size?: number } = {}): void {
    const width = RIGHT - LEFT
    this.#use(isBold, size)
    const height = this.#pdf.heightOfString(text, { width })
    if (this.#y + height > BOTTOM) this.#breakPage()
    this.#pdf.text(text, LEFT, this.#y, { width })
    this.gap(height + 2)
  }

  async row({ text, first, second = '', amount = '', isBold = false, indent = 0 }: Row): Promise<void> {
    if (this.#y + ROW > BOTTOM) {
      this.#breakPage()
      // Other requests get a turn after each page.
      await new Promise(setImmediate)
    }
    this.#use(isBold, NORMAL)
    const at = LEFT + indent
    const until = first === undefined ? SECOND_AT : FIRST_AT
    this.#pdf.text(text, at, this.#y, { width: until - at - 10, height: ROW - 2, ellipsis: true })
    if (first !== undefined) this.#number(first, FIRST_AT, SECOND_AT - 10)
    this.#number(second, SECOND_AT, LAST_AT - 10)
    this.#number(amount, LAST_AT, RIGHT)
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
  async end({ text, page: pageOf }: Parameters<typeof printed>[2]): Promise<Buffer> {
    const { count } = this.#pdf.bufferedPageRange()
    this.#y = BOTTOM + 20
    for (let page = 0; page < count; page++) {
      this.#pdf.switchToPage(page)
      this.#use(false, SMALL)
      this.#pdf.text(text, LEFT, this.#y, { lineBreak: false })
      this.#number(pageOf(page + 1, count), LAST_AT, RIGHT)
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
