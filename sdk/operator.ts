import type {
  AccountClose,
  AccountCreate,
  Credit,
  Debit,
  LimitChange,
  OperatedAccountUpdate,
  StatusChange,
  TokenCreate,
} from './openapi.ts'
import type { Call, CallOptions, Query } from './request.ts'

/** Operators' views and actions. They need an operator signed in on a page of the service, or an operator's token. */
export const operator = (call: Call) => ({
  /** One page of all accounts. */
  accounts: (query: Query<'GET /operator/accounts'> = {}, options?: CallOptions) =>
    call('GET /operator/accounts', { query }, options),
  /** Opens an account, once for each `external_id`. */
  createAccount: (body: AccountCreate, options?: CallOptions) =>
    call('POST /operator/accounts', { body }, options),
  account: (account_id: string, options?: CallOptions) =>
    call('GET /operator/accounts/{account_id}', { path: { account_id } }, options),
  updateAccount: (account_id: string, body: OperatedAccountUpdate, options?: CallOptions) =>
    call('PATCH /operator/accounts/{account_id}', { path: { account_id }, body }, options),
  setLimits: (account_id: string, body: LimitChange, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/limits', { path: { account_id }, body }, options),
  /** Makes a link that signs the owner in. */
  createLogin: (account_id: string, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/login', { path: { account_id } }, options),
  /** Creates a token of the account; its value is shown once. */
  createToken: (account_id: string, body: TokenCreate, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/tokens', { path: { account_id }, body }, options),
  suspendAccount: (account_id: string, body: StatusChange, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/suspend', { path: { account_id }, body }, options),
  resumeAccount: (account_id: string, body: StatusChange, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/resume', { path: { account_id }, body }, options),
  /** Its servers are deleted after 7 days; until then `resumeAccount` undoes this. */
  closeAccount: (account_id: string, body: AccountClose, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/close', { path: { account_id }, body }, options),
  /** Adds to a balance, once for each reference. */
  creditAccount: (account_id: string, body: Credit, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/credit', { path: { account_id }, body }, options),
  /** Takes from a balance, once for each reference. */
  debitAccount: (account_id: string, body: Debit, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/debit', { path: { account_id }, body }, options),
  /** Lists each zone's capacity, and how much of it is sold. */
  capacity: (options?: CallOptions) => call('GET /operator/capacity', {}, options),
  images: (options?: CallOptions) => call('GET /operator/images', {}, options),
  /** One page of the operations of all accounts that are in progress, or have failed. */
  operations: (query: Query<'GET /operator/operations'> = {}, options?: CallOptions) =>
    call('GET /operator/operations', { query }, options),
})
