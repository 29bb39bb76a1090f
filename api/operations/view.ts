import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import type { Operation } from './schema.ts'
import type { OperationTable } from './tables.ts'

export function operationView(row: OperationTable): Operation {
  return {
    operation_id: row.operation_id,
    subject_type: row.subject_type,
    subject_id: row.subject_id,
    server_id: row.server_id,
    type: row.type,
    status: row.status,
    progress: row.progress,
    step: row.step,
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    created_at: isoTime(row.created_at),
    started_at: isoTimeOrNull(row.started_at),
    finished_at: isoTimeOrNull(row.finished_at),
  }
}
