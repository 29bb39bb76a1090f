import { v7 as uuid } from 'uuid'
import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import { ApiError } from '../../http/contract/problem.ts'
import type { Secrets } from '../../secrets.ts'
import { peopleProblems } from '../person/schema.ts'

/** How long somebody may take between two steps of one sign-in. */
const LIVES_MS = 10 * 60_000

/** What a ticket carries from one step to the next, by what it is for. */
interface Contents {
  /** Whose first factor was right, and a hash of what was kept of her password then. */
  second_factor: { personId: string; password: string }
  /** What is to be signed by a passkey that is made, in which session. */
  passkey: { challenge: string; personId: string; sessionId: string }
  /** What is to be signed by whoever signs in. */
  passkey_sign_in: { challenge: string }
  /** What the provider's answer must fit, which only the browser that began has. */
  provider: { state: string; nonce: string; verifier: string }
  /** What a person who signs in otherwise next can sign in with from then on. */
  identity: { personId: string; issuer: string; subject: string }
}

export interface Ticket<Purpose extends keyof Contents> {
  ticketId: string
  purpose: Purpose
  expiresAt: number
  contents: Contents[Purpose]
}

/**
 * What a client holds between two steps of one sign-in: sealed, for one purpose, once. Nothing is kept until one is
 * used, so that strangers can begin as often as they like.
 */
export class Tickets {
  readonly #clock: Clock
  readonly #secrets: Secrets

  constructor({ clock, secrets }: { clock: Clock; secrets: Secrets }) {
    this.#clock = clock
    this.#secrets = secrets.for('tickets')
  }

  issue<Purpose extends keyof Contents>(purpose: Purpose, contents: Contents[Purpose]): string {
    const expiresAt = this.#clock.now() + LIVES_MS
    const ticket: Ticket<Purpose> = { ticketId: uuid(), purpose, expiresAt, contents }
    return this.#secrets.seal(JSON.stringify(ticket))
  }

  /** @throws ApiError ticket_invalid */
  open<Purpose extends keyof Contents>(purpose: Purpose, sealed: string): Ticket<Purpose> {
    const ticket = this.#read(sealed)
    if (ticket?.purpose !== purpose || ticket.expiresAt <= this.#clock.now()) throw ticketInvalid()
    return ticket as Ticket<Purpose> // what was sealed for this purpose
  }

  #read(sealed: string): Ticket<keyof Contents> | null {
    try {
      const ticket: Ticket<keyof Contents> = JSON.parse(this.#secrets.open(sealed))
      return ticket
    } catch {
      return null
    }
  }

  /** Uses a ticket up: of several who try at once, one has it. @throws ApiError ticket_invalid */
  async spend(tx: Queries, { ticketId, expiresAt }: Ticket<keyof Contents>): Promise<void> {
    const { numInsertedOrUpdatedRows = 0n } = await tx
      .insertInto('spent_tickets')
      .values({ ticket_id: ticketId, expires_at: expiresAt })
      .onConflict((conflict) => conflict.column('ticket_id').doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 0n) throw ticketInvalid()
  }
}

export function ticketInvalid(): ApiError {
  return new ApiError(
    peopleProblems.ticket_invalid,
    'This took too long, or was done already. Begin again with the page to sign in.',
  )
}
