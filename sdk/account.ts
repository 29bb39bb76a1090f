import type { ProjectCreate, ProjectUpdate, SshKeyCreate, TokenCreate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export const account = (call: Call) => ({
  /** The account, the token that asks, and of each quota its limit and what is used. */
  get: (options?: CallOptions) => call('GET /account/me', {}, options),
  /** What is left, what an hour of all that is billed costs, and how long it lasts. */
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
    create: (body: ProjectCreate, options?: CallOptions) => call('POST /account/projects', { body }, options),
    update: (project_id: string, body: ProjectUpdate, options?: CallOptions) =>
      call('PATCH /account/projects/{project_id}', { path: { project_id }, body }, options),
    /** Only an empty one goes, and never the default one. */
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
    listAll: (options?: CallOptions) => everyItem(list, 'ssh_key_id', {}, options),
    get: (ssh_key_id: string, options?: CallOptions) =>
      call('GET /account/ssh_keys/{ssh_key_id}', { path: { ssh_key_id } }, options),
    create: (body: SshKeyCreate, options?: CallOptions) => call('POST /account/ssh_keys', { body }, options),
    /** Servers that were made with it keep it. */
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
    /** Its value is in this reply and nowhere else. */
    create: (body: TokenCreate, options?: CallOptions) => call('POST /account/tokens', { body }, options),
    /** Ends it at once. */
    delete: (token_id: string, options?: CallOptions) =>
      call('DELETE /account/tokens/{token_id}', { path: { token_id } }, options),
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

export function audit(call: Call) {
  const list = (query: Query<'GET /account/audit'> = {}, options?: CallOptions) =>
    call('GET /account/audit', { query }, options)
  return {
    /** One page of who changed what, and from where. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'audit_id', {}, options),
  }
}

export const usage = (call: Call) => ({
  /** What the hours of a month were charged with; of this month where none is named. */
  get: (query: Query<'GET /account/usage'> = {}, options?: CallOptions) =>
    call('GET /account/usage', { query }, options),
  /** The same for a spreadsheet. */
  csv: (query: Query<'GET /account/usage.csv'> = {}, options?: CallOptions) =>
    call('GET /account/usage.csv', { query }, options),
})
