import type { ProjectCreate, ProjectUpdate, SshKeyCreate, SshKeyUpdate, TokenCreate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export const account = (call: Call) => ({
  /** The account, the token in use, and the limit and usage of each quota. */
  get: (options?: CallOptions) => call('GET /account/me', {}, options),
  /** The balance, the current cost per hour and month, and how long the balance lasts. */
  balance: (options?: CallOptions) => call('GET /account/balance', {}, options),
})

export function projects(call: Call) {
  const list = (query: Query<'GET /account/projects'> = {}, options?: CallOptions) =>
    call('GET /account/projects', { query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'project_id', {}, options),
    get: (project_id: string, options?: CallOptions) =>
      call('GET /account/projects/{project_id}', { path: { project_id } }, options),
    create: (body: ProjectCreate, options?: CallOptions) => call('POST /account/projects', { body }, options),
    update: (project_id: string, body: ProjectUpdate, options?: CallOptions) =>
      call('PATCH /account/projects/{project_id}', { path: { project_id }, body }, options),
    /** Works only for empty projects, and never for the default one. */
    delete: (project_id: string, options?: CallOptions) =>
      call('DELETE /account/projects/{project_id}', { path: { project_id } }, options),
  }
}

export function sshKeys(call: Call) {
  const list = (query: Query<'GET /account/ssh_keys'> = {}, options?: CallOptions) =>
    call('GET /account/ssh_keys', { query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /account/ssh_keys'> = {}, options?: CallOptions) =>
      everyItem(list, 'ssh_key_id', query, options),
    get: (ssh_key_id: string, options?: CallOptions) =>
      call('GET /account/ssh_keys/{ssh_key_id}', { path: { ssh_key_id } }, options),
    create: (body: SshKeyCreate, options?: CallOptions) => call('POST /account/ssh_keys', { body }, options),
    /** Renames the key. */
    update: (ssh_key_id: string, body: SshKeyUpdate, options?: CallOptions) =>
      call('PATCH /account/ssh_keys/{ssh_key_id}', { path: { ssh_key_id }, body }, options),
    /** Servers created with it keep it. */
    delete: (ssh_key_id: string, options?: CallOptions) =>
      call('DELETE /account/ssh_keys/{ssh_key_id}', { path: { ssh_key_id } }, options),
  }
}

export function tokens(call: Call) {
  const list = (query: Query<'GET /account/tokens'> = {}, options?: CallOptions) =>
    call('GET /account/tokens', { query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'token_id', {}, options),
    /** Without its value. */
    get: (token_id: string, options?: CallOptions) =>
      call('GET /account/tokens/{token_id}', { path: { token_id } }, options),
    /** The reply is the only place that has its value. */
    create: (body: TokenCreate, options?: CallOptions) => call('POST /account/tokens', { body }, options),
    /** Revokes it immediately, and the tokens created with it unless `keep_children` is true. */
    delete: (
      token_id: string,
      { keep_children, ...options }: CallOptions & { keep_children?: boolean } = {},
    ) => call('DELETE /account/tokens/{token_id}', { path: { token_id }, query: { keep_children } }, options),
  }
}

export function transactions(call: Call) {
  const list = (query: Query<'GET /account/transactions'> = {}, options?: CallOptions) =>
    call('GET /account/transactions', { query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'transaction_id', {}, options),
  }
}

export function announcements(call: Call) {
  const list = (query: Query<'GET /announcements'> = {}, options?: CallOptions) =>
    call('GET /announcements', { query }, options)
  return {
    /** One page of the operator's announcements that concern the account and have not ended. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'announcement_id', {}, options),
  }
}

export function complaints(call: Call) {
  const list = (query: Query<'GET /account/complaints'> = {}, options?: CallOptions) =>
    call('GET /account/complaints', { query }, options)
  return {
    /** One page of the open complaints about the account or, by `status`, of the closed ones. */
    list,
    /** All, page by page. */
    listAll: (query: Query<'GET /account/complaints'> = {}, options?: CallOptions) =>
      everyItem(list, 'complaint_id', query, options),
    /** With all answers and replies. */
    get: (complaint_id: string, options?: CallOptions) =>
      call('GET /account/complaints/{complaint_id}', { path: { complaint_id } }, options),
    /** The operator reads it, and replies or closes the complaint. */
    answer: (complaint_id: string, text: string, options?: CallOptions) =>
      call(
        'POST /account/complaints/{complaint_id}/answers',
        { path: { complaint_id }, body: { text } },
        options,
      ),
  }
}

export function audit(call: Call) {
  const list = (query: Query<'GET /account/audit'> = {}, options?: CallOptions) =>
    call('GET /account/audit', { query }, options)
  return {
    /** One page of the audit log: changes with their actors and addresses. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'audit_id', {}, options),
  }
}

export const usage = (call: Call) => ({
  /** The charges of a month by server; by default of the current month. */
  get: (query: Query<'GET /account/usage'> = {}, options?: CallOptions) =>
    call('GET /account/usage', { query }, options),
  /** The same as CSV. */
  csv: (query: Query<'GET /account/usage.csv'> = {}, options?: CallOptions) =>
    call('GET /account/usage.csv', { query }, options),
})
