import { ApiError } from '../http/contract/problem.ts'
import { serverProblems } from './schema.ts'
import type { ServerTable } from './tables.ts'

/** @throws ApiError delete_protected if the data of the server must not be lost */
export function requireUnprotected({ delete_protection }: Pick<ServerTable, 'delete_protection'>): void {
  if (delete_protection)
    throw new ApiError(
      serverProblems.delete_protected,
      'The server is protected from deletion. Set delete_protection to false first.',
    )
}
