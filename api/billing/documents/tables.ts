declare module '../../database/schema.ts' {
  interface Schema {
    documents: DocumentTable
    document_series: DocumentSeriesTable
  }
}

/** A document of an account and a month, or a correction of one. It is never deleted, and only `mail_at` changes. */
export interface DocumentTable {
  document_id: string
  account_id: string
  /** The tax id of the legal entity, for which documents are numbered 1, 2, 3… */
  seller: string
  sequence: number
  /** The sequence with the prefix that was in force. */
  number: string
  type: 'invoice' | 'statement' | 'credit_note' | 'debit_note'
  /**
   * The start of the month (milliseconds). Corrections have -1, -2… instead, so that none counts as a document of
   * the last month.
   */
  month: number
  /** For a correction: the id of the corrected document, JSON of Corrected, and the operator's reference. */
  corrects: string | null
  corrected: string | null
  reference: string | null
  /** The account's last entry at the time of issue: later entries of this month are in the next document. */
  last_transaction: number
  vat: number
  total: number
  opening_balance: number
  closing_balance: number
  /** JSON of DocumentContent or CorrectionContent: all that is ever shown of the document. */
  content: string
  /** SHA-256 of the content, hex. */
  sha256: string
  issued_at: number
  /** When the mail about it is due; null if it was sent or is not needed. */
  mail_at: number | null
}

/** The last number that was given to a document of a legal entity. */
export interface DocumentSeriesTable {
  seller: string
  last_number: number
}
