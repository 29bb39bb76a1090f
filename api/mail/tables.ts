declare module '../database/schema.ts' {
  interface Schema {
    mails: MailTable
  }
}

/** A mail on its way; the row is also the job that sends it. */
export interface MailTable {
  mail_id: string
  /** Sealed JSON: it contains sign-in links. */
  content: string
  attempts: number
  next_run_at: number
  created_at: number
}
