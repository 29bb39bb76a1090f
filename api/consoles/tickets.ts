import { hash, randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { Credential } from '../http/contract/auth.ts'
import type { ServerTable } from '../servers/tables.ts'
import type { ConsoleTicketTable } from './tables.ts'

const LIVES_MS = 60_000
const MAX_OF_ACCOUNT = 20

/** The console or screen that a ticket opens, and its holder. */
export interface Admission {
  kind: ConsoleTicketTable['kind']
  actor: Credential
  server: Pick<ServerTable, 'server_id' | 'pool'>
}

/**
 * Tickets that open one console each, within a minute. The database keeps their hashes, since the WebSocket may reach
 * another process than the request for the ticket.
 */
export class ConsoleTickets {
  readonly #db: Database
  readonly #clock: Clock

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  async issue({ kind, actor, server }: Admission): Promise<{ ticket: string; expiresAt: number }> {
    const ticket = `ticket_${randomBytes(32).toString('base64url')}`
    const now = this.#clock.now()
    await this.#db.transaction().execute(async (tx) => {
      await forget(tx, actor.accountId, now)
      await tx
        .insertInto('console_tickets')
        .values({
          ticket: hash('sha256', ticket),
          account_id: actor.accountId,
          credential: JSON.stringify(credentialOf(actor)),
          server_id: server.server_id,
          kind,
          pool: server.pool,
          issued_at: now,
        })
        .execute()
    })
    return { ticket, expiresAt: now + LIVES_MS }
  }

  /** @returns the console that it opens; null if it is unknown, was used, or has expired */
  async redeem(ticket: string): Promise<Admission | null> {
    const row = await this.#db
      .deleteFrom('console_tickets')
      .where('ticket', '=', hash('sha256', ticket))
      .returningAll()
      .executeTakeFirst()
    // A clock that was set back must not extend its life.
    if (!row || Math.abs(this.#clock.now() - row.issued_at) >= LIVES_MS) return null
    const actor: Credential = JSON.parse(row.credential)
    return { kind: row.kind, actor, server: { server_id: row.server_id, pool: row.pool } }
  }
}

/** Keeps only the parts of a caller that a ticket needs. */
function credentialOf({ accountId, tokenId, person }: Credential): Credential {
  return { accountId, tokenId, person }
}

/** Deletes an account's expired tickets, and the oldest beyond the limit. */
async function forget(tx: Queries, accountId: string, now: number): Promise<void> {
  const old = tx
    .selectFrom('console_tickets')
    .select('ticket')
    .where('account_id', '=', accountId)
    .orderBy('issued_at', 'desc')
    .limit(MAX_OF_ACCOUNT)
    .offset(MAX_OF_ACCOUNT - 1)
  await tx
    .deleteFrom('console_tickets')
    .where('account_id', '=', accountId)
    .where((eb) => eb.or([eb('issued_at', '<=', now - LIVES_MS), eb('ticket', 'in', old)]))
    .execute()
}
