import type { SignKind } from './kinds.ts'

declare module '../database/schema.ts' {
  interface Schema {
    signs: SignTable
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
  /** The accounts that it is about, newest first, as a JSON array of ids. */
  accounts: string
  /** When it began, and when it was last seen. */
  since: number
  seen_at: number
  /** The last figure and the highest since it began, in the unit of its kind. */
  figure: number
  peak: number
}
