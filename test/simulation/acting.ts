import type { Chance } from './chance.ts'
import type { Client, Reply } from './customer.ts'

/** The resources of a customer as they know them, by kind; those that are gone are among them. */
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
  /** May read only. */
  reader: Client
  /** People with different roles, signed in. */
  members: readonly Client[]
  accountId: string
  /** Goes to the provider's page of a payment, and pays there or not. */
  visit: (page: string, chance: Chance) => Promise<void>
  known: Known
  /** The resources of another customer, for those who try. */
  others: Known
  template: string
  preset: string
  /** The number of newest resources that most requests are about. */
  recent: number
}

export interface Request {
  customer: Customer
  chance: Chance
  /** Keeps the texts of replies that must never be seen again. */
  keep: (secret: unknown) => void
}

export type Act = (request: Request) => Promise<Reply | null | undefined>
