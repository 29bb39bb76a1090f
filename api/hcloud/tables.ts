declare module '../database/schema.ts' {
  interface Schema {
    hcloud_numbers: HcloudNumberTable
    hcloud_counter: HcloudCounterTable
  }
}

/** The number by which hcloud's tools know an object, in place of its id. */
export interface HcloudNumberTable {
  number: number
  /** The owner of the object; null for an offer of the catalogue. */
  account_id: string | null
  kind: string
  object_id: string
  created_at: number
  /** When the object was found to be gone, or its action began; the number is forgotten some time later. */
  ended_at: number | null
}

/** One row, with the last number that was given. */
export interface HcloudCounterTable {
  counter_id: number
  last: number
}
