import { v7 as uuid } from 'uuid'
import type { Queries } from '../database/database.ts'

export interface Event {
  accountId: string
  type: 'balance.low' | 'balance.depleted' | 'balance.topped_up'
  data: Record<string, unknown>
  at: number
}

/** Writes down what happened, in the transaction in which it does: both or neither. */
export async function record(tx: Queries, events: readonly Event[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ accountId, type, data, at }) => ({
    event_id: uuid(),
    account_id: accountId,
    type,
    data: JSON.stringify(data),
    created_at: at,
  }))
  await tx.insertInto('events').values(rows).execute()
}
