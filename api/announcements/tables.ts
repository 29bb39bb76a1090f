declare module '../database/schema.ts' {
  interface Schema {
    announcements: AnnouncementTable
  }
}

export interface AnnouncementTable {
  announcement_id: string
  kind: 'maintenance' | 'incident' | 'notice'
  text_en: string
  text_ru: string
  /** Slugs of zones, as JSON; an empty list means all. */
  zones: string
  starts_at: number
  /** The planned end; null if it lasts until the operator ends it. */
  ends_at: number | null
  /** When the operator ended it. */
  ended_at: number | null
  /** A hash of the request that created it, by which a repeat finds it; null once it was changed. */
  digest: string | null
  /** The last address that was mailed; mails go out in the order of addresses. */
  mailed_to: string
  /** When the last mail was queued; null until then. */
  mailed_at: number | null
  created_at: number
  updated_at: number
}
