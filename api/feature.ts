import type { RawBuilder } from 'kysely'
import type { Database, Queries } from './database/database.ts'
import type { Scope } from './http/contract/auth.ts'
import type { Route } from './http/contract/route.ts'

/** A limit on how much of something an account may have. */
export interface Quota {
  name: string
  /** A description of the counted things, for the API's description. */
  description: string
  /** The limit of an account that has paid. */
  limit: number
  /** The limit before the first payment (default: `limit`). */
  unpaid?: number
  /** The use by the account of the examples. */
  example: number
  /** A query of the use by an account. Its text is the same for all accounts. */
  count: (db: Queries, accountId: string) => RawBuilder<number>
}

/** Rows that are deleted some days after a time that stands in them. */
interface OldRows {
  days: number
  /** Deletes at most `limit` rows from before a moment. @returns the number deleted */
  delete: (db: Database, before: number, limit: number) => Promise<number>
}

/** Rows of which an account keeps only the newest. */
interface ExcessRows {
  most: number
  /** Deletes at most `limit` rows beyond the newest `most`. @returns the number deleted */
  delete: (db: Database, accountId: string, most: number, limit: number, now: number) => Promise<number>
}

export interface Cleaning {
  old?: Readonly<Record<string, OldRows>>
  excess?: Readonly<Record<string, ExcessRows>>
}

/**
 * A feature's contributions to the service. `api/features.ts` lists the features; nothing is registered on import.
 */
export interface Feature<Parts = never> {
  /** Groups of its routes with their descriptions, for the API's description. */
  tags: Readonly<Record<string, string>>
  /** @param parts the parts of the program that the routes use: `api/app.ts` passes all parts */
  routes: (parts: Parts) => Route[]
  /** Types of its events, each with the scope that is required to see it. */
  events: Readonly<Record<string, Scope>>
  quotas: readonly Quota[]
  /**
   * Returns the deletions that are due in time. Called once by each service, since a function may remember its
   * position.
   */
  cleaning: () => Cleaning
}

/** Completes a feature with empty defaults. */
export function feature<Parts = unknown>(brings: Partial<Feature<Parts>>): Feature<Parts> {
  return { tags: {}, routes: () => [], events: {}, quotas: [], cleaning: () => ({}), ...brings }
}
