import Type, { type Static } from 'typebox'
import { Currency, money, nullable, timestamp, uuid } from '../../http/contract/fields.ts'
import { defineProblems } from '../../http/contract/problem.ts'
import { Hours, ItemId, ItemType, Month } from '../schema.ts'
import { MOST_LINES } from './movement.ts'

export const documentProblems = defineProblems({
  document_not_found: { status: 404, title: 'No such document' },
  document_not_correctable: { status: 409, title: 'Only an invoice can be corrected' },
  correction_too_large: { status: 409, title: 'The document does not have as much left' },
  too_many_corrections: { status: 409, title: 'Too many corrections' },
})

/** Corrections that a document and an account may have. */
export const MOST_CORRECTIONS = 50
export const MOST_OF_ACCOUNT = 1_000

const DocumentType = Type.Enum(['invoice', 'statement', 'credit_note', 'debit_note'], {
  description:
    '`invoice`: the charges of the month, with its payments and balances; `statement`: a month without charges; `credit_note` and `debit_note`: a correction of an invoice, which lowers or raises it. More will be added; show an unknown type by its name.',
  examples: ['invoice'],
})
const Count = (description: string, example: number) => Type.Integer({ description, examples: [example] })

const Corrected = Type.Object(
  {
    document_id: uuid('01a1fb44-5a10-7c1d-8e4b-3d2c1b0a9f8e', 'Id of the document'),
    number: Type.String({ description: 'Number of the document', examples: ['17'] }),
    period: Type.String({ ...Month, description: 'Calendar month (UTC) of the document' }),
    issued_at: timestamp('When it was issued'),
  },
  { title: 'CorrectedDocument', description: 'The invoice that a correction is of' },
)
export type Corrected = Static<typeof Corrected>

const summary = {
  document_id: uuid('01a1fb44-5a10-7c1d-8e4b-3d2c1b0a9f8e', 'Id of the document'),
  type: DocumentType,
  number: Type.String({
    description: 'Number of the document; the numbers of a seller have no gaps',
    examples: ['17'],
  }),
  period: Type.String({
    ...Month,
    description: 'Calendar month (UTC) of the document, or of the one that it corrects',
  }),
  corrects: nullable(Corrected, {
    description: 'The invoice that it corrects; null if it is no correction',
    examples: [null],
  }),
  currency: Currency,
  vat_rub: money('VAT in the total', '49.32'),
  total_rub: money(
    'Charges of the month, with VAT; of a correction the change of them, below zero in a credit note',
    '295.92',
  ),
  opening_balance_rub: money('Balance before the entries of the document', '1000.00'),
  closing_balance_rub: money('Balance after the entries of the document', '704.08'),
  issued_at: timestamp('When it was issued'),
}
const sha256 = Type.String({
  description: 'SHA-256 of the stored content, as printed on the PDF: it never changes',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
})

export const Document = Type.Object(
  { ...summary, sha256 },
  { title: 'Document', description: 'An invoice or statement of a calendar month, or a correction' },
)
export type Document = Static<typeof Document>

const Seller = Type.Object(
  {
    name: Type.String({ description: 'Name of the legal entity', examples: ['Example Cloud LLC'] }),
    address: Type.String({ description: 'Its address', examples: ['1 Example Street, Example City'] }),
    tax_id: Type.String({ description: 'Its tax id', examples: ['7700000000'] }),
  },
  { title: 'DocumentSeller', description: 'The legal entity that issued the document, as it was named then' },
)

const Customer = Type.Object(
  {
    account_id: uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Id of the account'),
    name: Type.String({ description: 'Name of the account', examples: ['Example Customer'] }),
    email: Type.String({ description: 'Contact address of the account', examples: ['billing@example.com'] }),
  },
  { title: 'DocumentCustomer', description: 'The account, as it was named when the document was issued' },
)

const Vat = Type.Object(
  {
    percent: Type.String({ description: 'Rate in percent', examples: ['20'] }),
    is_included: Type.Boolean({
      description:
        'If true, prices include it. If false, it was added and debited when the document was issued',
    }),
  },
  { title: 'DocumentVat', description: 'Value-added tax of the document' },
)

const Item = Type.Object(
  {
    item_type: ItemType,
    item_id: ItemId,
    name: Type.String({ description: 'Name of the item when the document was issued', examples: ['web-1'] }),
    hours: Hours,
    amount_rub: money('Sum of its charges, including those for traffic', '295.92'),
    traffic_amount_rub: money('Sum of its charges for traffic', '0.00'),
  },
  { title: 'DocumentItem', description: 'Cost of an item while it was in the project' },
)

const MoreItems = Type.Object(
  {
    item_type: ItemType,
    items: Count('Number of items', 12),
    hours: Hours,
    amount_rub: money('Sum of their charges', '1.20'),
  },
  { title: 'DocumentMoreItems', description: 'Items of one type that have no line of their own' },
)

const Project = Type.Object(
  {
    project_id: nullable(uuid('01a1fb44-5997-73df-a23c-ea72e7720849', 'Id of the project'), {
      description: 'Id of the project; null if the items had none',
    }),
    name: nullable(Type.String({ examples: ['Default'] }), {
      description: 'Name of the project when the document was issued; null if it was deleted',
    }),
    amount_rub: money('Sum of its lines', '295.92'),
    items: Type.Array(Item, {
      description: `Its items by name; a document has lines for the ${MOST_LINES} items that cost the most`,
    }),
    more_items: Type.Array(MoreItems, { description: 'The other items, by type', examples: [[]] }),
  },
  { title: 'DocumentProject', description: 'Charges of a project' },
)

const EntryType = Type.Enum(['payment', 'refund', 'correction'], {
  description: 'Why the balance changed',
  examples: ['payment'],
})

const Entry = Type.Object(
  {
    type: EntryType,
    description: Type.String({ description: 'Text of the entry', examples: ['Payment'] }),
    amount_rub: money('Change of the balance', '500.00'),
    created_at: timestamp('When it was booked'),
  },
  { title: 'DocumentEntry', description: 'A payment, refund or correction' },
)

const MoreEntries = Type.Object(
  {
    type: EntryType,
    entries: Count('Number of entries', 12),
    amount_rub: money('Sum of their amounts', '1200.00'),
  },
  { title: 'DocumentMoreEntries', description: 'Entries of one type that have no line of their own' },
)

const Sums = (description: string) =>
  Type.Object(
    {
      net_rub: money('Without VAT', '246.60'),
      vat_rub: money('VAT', '49.32'),
      total_rub: money('With VAT', '295.92'),
    },
    { title: 'DocumentSums', description },
  )

const CorrectionLine = Type.Object(
  {
    item_type: nullable(ItemType, { description: 'Type of the item; null if the line names none' }),
    item_id: nullable(ItemId, { description: 'Id of the item of the invoice; null if the line names none' }),
    name: nullable(Type.String({ examples: ['web-1'] }), {
      description: 'Name of the item as in the invoice; null if the line names none',
    }),
    amount_rub: money('Change of the charges, below zero in a credit note', '-95.92'),
  },
  { title: 'CorrectionLine', description: 'A change of the charges, perhaps of those for one item' },
)

const Correction = Type.Object(
  {
    reason: Type.String({ description: 'Why it was issued', examples: ['An outage on 3 November'] }),
    lines: Type.Array(CorrectionLine, { description: 'The changes that add up to `charges_rub`' }),
    before: Sums('The sums of the invoice with its earlier corrections'),
    after: Sums('The sums of the invoice with this correction, too'),
    transaction_id: uuid('01a1fb44-5a10-7c1d-8e4b-2f1e0d9c8b7a', 'Id of the entry that booked it'),
  },
  { title: 'DocumentCorrection', description: 'How a correction changes an invoice' },
)

const CorrectedBy = Type.Object(
  {
    document_id: summary.document_id,
    type: DocumentType,
    number: Type.String({ description: 'Number of the correction', examples: ['18'] }),
    total_rub: money('Change of the total, below zero in a credit note', '-95.92'),
    issued_at: summary.issued_at,
  },
  { title: 'CorrectedBy', description: 'A correction of the document' },
)

export const DocumentDetails = Type.Object(
  {
    ...summary,
    language: Type.Enum(['en', 'ru'], { description: 'Language of the PDF', examples: ['en'] }),
    seller: Seller,
    customer: Customer,
    vat: nullable(Vat, { description: 'Value-added tax; null if the seller charges none' }),
    net_rub: money('Charges of the month, without VAT', '246.60'),
    charges_rub: money('Sum of the charges as they were booked', '295.92'),
    projects: Type.Array(Project, { description: 'Charges by project' }),
    entries: Type.Array(Entry, {
      description: `The first ${MOST_LINES} payments, refunds and corrections, oldest first`,
    }),
    more_entries: Type.Array(MoreEntries, { description: 'The other entries, by type', examples: [[]] }),
    correction: nullable(Correction, {
      description: 'How it changes the invoice that it corrects; null if it is no correction',
      examples: [null],
    }),
    corrections: Type.Array(CorrectedBy, {
      description: `Its corrections, oldest first, at most ${MOST_CORRECTIONS}; they are no part of what was issued`,
      examples: [[]],
    }),
    sha256,
  },
  { title: 'DocumentDetails', description: 'A document with its lines' },
)
export type DocumentDetails = Static<typeof DocumentDetails>

/** A document as its files show it: the same for ever. */
export type DocumentFile = Omit<DocumentDetails, 'corrections'>

/** The part of a month's document that is stored when it is issued. */
export type DocumentContent = Omit<DocumentDetails, 'sha256' | 'corrects' | 'correction' | 'corrections'>

/** The same of a correction. */
export type CorrectionContent = DocumentContent & {
  corrects: Corrected
  correction: Static<typeof Correction>
}

/** How an operator changes an invoice. Amounts are decimal strings above zero. */
export interface CorrectionOrder {
  type: 'credit_note' | 'debit_note'
  lines: readonly { amount_rub: string; item_id?: string | undefined }[]
  reason: string
  reference: string
}

export const DocumentPdf = Type.String({
  format: 'binary',
  description: 'PDF, in A4',
  examples: ['%PDF-1.3'],
})

export const DocumentContentFile = Type.String({
  format: 'binary',
  description: 'PDF in A4, or CSV (RFC 4180)',
  examples: ['%PDF-1.3'],
})

export const DocumentCsv = Type.String({
  description: 'RFC 4180, with a header line',
  examples: [
    [
      'number,period,line,project,item_type,item_id,name,hours,created_at,amount_rub',
      '17,2026-11,opening_balance,,,,,,,1000.00',
      '17,2026-11,item,Default,server,01a1fb45-1ac2-75b7-a056-9ee82769d403,web-1,720.0000,,295.92',
      '17,2026-11,closing_balance,,,,,,,704.08',
      '',
    ].join('\r\n'),
  ],
})
