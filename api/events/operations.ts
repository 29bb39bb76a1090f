import type { Queries } from '../database/database.ts'
import type { OperationTable } from '../operations/tables.ts'
import { operationView } from '../operations/view.ts'
import { record } from './outbox.ts'

/** Records the result of an operation. */
export async function recordEnd(tx: Queries, operation: OperationTable): Promise<void> {
  const { account_id: accountId, status, finished_at } = operation
  if (status !== 'succeeded' && status !== 'failed') return
  const data = operationView(operation)
  await record(tx, [{ accountId, type: `operation.${status}`, data, at: finished_at ?? 0 }])
}
