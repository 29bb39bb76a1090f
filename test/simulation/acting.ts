import type { Chance } from './chance.ts'
import type { Client, Reply } from './customer.ts'

/** The resources that a customer knows, by kind, including deleted ones. */
export type Known = Record<Kind, string[]>
export type Kind =
  | 'servers'
  | 'snapshots'
  | 'addresses'
  | 'networks'
  | 'firewalls'
  | 'ports'
  | 'webhooks'
  | 'tokens'
  | 'projects'
  | 'volumes'
  | 'images'
  | 'isos'
  | 'members'

export interface Customer {
  client: Client
  /** A token that may only read. */
  reader: Client
  /** People with different roles, signed in. */
  members: readonly Client[]
  accountId: string
  /** Opens the provider's page of a payment, and pays or gives up. */
  visit: (page: string, chance: Chance) => Promise<void>
  known: Known
  /** The resources of another customer, for attempts to access them. */
  others: Known
  template: string
  preset: string
  /** Most requests are about this many of the newest resources. */
  recent: number
}

export interface Request {
  customer: Customer
  chance: Chance
  /** Remembers secrets in replies, which must never be shown again. */
  keep: (secret: unknown) => void
}

export type Act = (request: Request) => Promise<Reply | null | undefined>
