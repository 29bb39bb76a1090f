import type { BackupKeep } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function backups(call: Call) {
  const list = (query: Query<'GET /backups'> = {}, options?: CallOptions) =>
    call('GET /backups', { query }, options)
  return {
    /** One page, newest first; `server_id` selects the backups of a server. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /backups'> = {}, options?: CallOptions) =>
      everyItem(list, 'backup_id', query, options),
    /** The backups of a server that is not deleted: one page, newest first. */
    ofServer: (
      server_id: string,
      query: Query<'GET /servers/{server_id}/backups'> = {},
      options?: CallOptions,
    ) => call('GET /servers/{server_id}/backups', { path: { server_id }, query }, options),
    get: (backup_id: string, options?: CallOptions) =>
      call('GET /backups/{backup_id}', { path: { backup_id } }, options),
    /** Turns a backup into a snapshot, which stays and is billed. */
    keep: (backup_id: string, body: BackupKeep = {}, options?: CallOptions) =>
      call('POST /backups/{backup_id}/snapshot', { path: { backup_id }, body }, options),
    delete: (backup_id: string, options?: CallOptions) =>
      call('DELETE /backups/{backup_id}', { path: { backup_id } }, options),
  }
}
