import { v7 as uuid } from 'uuid'
import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import { ApiError } from '../../http/contract/problem.ts'
import type { Secrets } from '../../secrets.ts'
import { peopleProblems } from '../person/schema.ts'

/** Time that a person may take between two steps of a sign-in. */
const LIVES_MS = 10 * 60_000

/** Contents of a ticket, by its purpose. */
interface Contents {
  /** The person whose first factor was right, and a hash of their password hash at that time. */
  second_factor: { personId: string; password: string }
  /** The challenge for a new passkey, and the session that requested it. */
  passkey: { challenge: string; personId: string; sessionId: string }
  /** The challenge for signing in with any passkey. */
  passkey_sign_in: { challenge: string }
  /** The values that the provider's answer must match. Only the browser that began has them. */
  provider: { state: string; nonce: string; verifier: string }
  /** The identity that a person may connect after signing in another way. */
  identity: { personId: string; issuer: string; subject: string }
}

export interface Ticket<Purpose extends keyof Contents> {
  ticketId: string
  purpose: Purpose
  expiresAt: number
  contents: Contents[Purpose]
}

/**
 * A sealed ticket that a client holds between two steps of a sign-in. It serves one purpose, once.
 * Nothing is stored until a ticket is used, so that strangers can begin as often as they like.
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
    return ticket as Ticket<Purpose> // it was sealed for this purpose
  }

  #read(sealed: string): Ticket<keyof Contents> | null {
    try {
      const ticket: Ticket<keyof Contents> = JSON.parse(this.#secrets.open(sealed))
      return ticket
    } catch {
      return null
    }
  }

  /** Uses up a ticket; only one of several simultaneous attempts succeeds. @throws ApiError ticket_invalid */
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
    'The sign-in has expired or was completed already. Start again on the sign-in page.',
  )
}
