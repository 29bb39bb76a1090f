declare module '../database/schema.ts' {
  interface Schema {
    operations: OperationTable
  }
}

export interface OperationTable {
  operation_id: string
  account_id: string
  /** The object that the operation is carried out on: its kind, such as `server`, and its id. */
  subject_type: string
  subject_id: string
  /** The server that it concerns; null if it concerns none. */
  server_id: string | null
  /** The type of the operation, in the words of the subject's feature. */
  type: string
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
  step: string
  progress: number
  /**
   * JSON: the parameters of the request, and values that steps pass to later ones; dataOf of operations/procedure.ts
   * reads it. Empty once the operation has ended.
   */
  data: string
  error_code: string | null
  error_message: string | null
  /** The number of times that the current step has failed in a row. */
  attempt: number
  next_run_at: number
  deadline_at: number
  lease_owner: string | null
  lease_until: number
  created_at: number
  started_at: number | null
  finished_at: number | null
  /** The time until which customers can read the operation; null while its subject exists. */
  readable_until: number | null
}
