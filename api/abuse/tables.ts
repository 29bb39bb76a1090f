import type { ComplaintKind, ComplaintOutcome } from './complaint-schema.ts'
import type { SignKind } from './kinds.ts'

declare module '../database/schema.ts' {
  interface Schema {
    signs: SignTable
    complaints: ComplaintTable
  }
}

/** A sign of abuse. A later one of the same kind and subject takes its place. */
export interface SignTable {
  sign_id: string
  kind: SignKind
  /** A server's id, a network, or the keyed hash of a card. */
  subject: string
  /** The owner of the server; null if it is about several accounts. */
  account_id: string | null
  /** The accounts concerned, newest first, as a JSON array of ids. */
  accounts: string
  /** When it began, and when it was last seen. */
  since: number
  seen_at: number
  /** The last figure and the highest since it began, in the unit of its kind. */
  figure: number
  peak: number
}

export interface ComplaintTable {
  complaint_id: string
  account_id: string
  /** The server concerned, and its name at that time; null if the complaint is about the whole account. */
  server_id: string | null
  server_name: string | null
  kind: ComplaintKind
  text: string
  /** Answers and replies, oldest first, as JSON. */
  messages: string
  deadline_at: number
  /** When the customer answered; null while an answer is awaited. */
  answered_at: number | null
  /** The next mail about the complaint, and when it is due; null if no mail is. */
  letter: 'opened' | 'replied' | 'reminder' | 'closed' | null
  letter_at: number | null
  reminded_at: number | null
  outcome: ComplaintOutcome | null
  closed_at: number | null
  created_at: number
  updated_at: number
}
