import type {
  AccountClose,
  AccountCreate,
  AnnouncementCreate,
  AnnouncementUpdate,
  Arrival,
  CatalogCheck,
  CatalogReplacement,
  ComplaintClose,
  ComplaintCreate,
  ComplaintReply,
  CorrectionCreate,
  Credit,
  CreditLimitChange,
  Debit,
  LimitChange,
  OperatedAccountUpdate,
  PriceChange,
  PromoCodeCreate,
  RebuildRequest,
  RefundCreate,
  RescueRequest,
  ServerCreate,
  ServerMove,
  ServerReason,
  ServerStop,
  ServerTermination,
  ServerUpdate,
  StatusChange,
  TokenCreate,
} from './openapi.ts'
import type { Call, CallOptions, Query } from './request.ts'

/** The servers of all accounts, without their secrets. */
const servers = (call: Call) => ({
  /** One page of the servers of all accounts. */
  servers: (query: Query<'GET /operator/servers'> = {}, options?: CallOptions) =>
    call('GET /operator/servers', { query }, options),
  server: (server_id: string, options?: CallOptions) =>
    call('GET /operator/servers/{server_id}', { path: { server_id } }, options),
  /** Orders a server for an account, which pays for it. */
  createServer: (account_id: string, body: ServerCreate, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/servers', { path: { account_id }, body }, options),
  /** A change of plan needs a stopped server and is an operation. */
  updateServer: (server_id: string, body: ServerUpdate, options?: CallOptions) =>
    call('PATCH /operator/servers/{server_id}', { path: { server_id }, body }, options),
  /** Its owner sees the reason, and can't start it until `resumeServer`. */
  suspendServer: (server_id: string, body: ServerReason, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/suspend', { path: { server_id }, body }, options),
  resumeServer: (server_id: string, body: ServerReason, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/resume', { path: { server_id }, body }, options),
  /** Gives a stopped server to another account, which pays for it from then on. */
  moveServer: (server_id: string, body: ServerMove, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/move', { path: { server_id }, body }, options),
  startServer: (server_id: string, body: ServerReason, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/start', { path: { server_id }, body }, options),
  stopServer: (server_id: string, body: ServerStop, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/stop', { path: { server_id }, body }, options),
  rebootServer: (server_id: string, body: ServerStop, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/reboot', { path: { server_id }, body }, options),
  /** All data on its disk is lost, at once. */
  deleteServer: (server_id: string, body: ServerTermination, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/delete', { path: { server_id }, body }, options),
  /** All data on its disk is lost. */
  rebuildServer: (server_id: string, body: RebuildRequest, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/rebuild', { path: { server_id }, body }, options),
  resetServerPassword: (server_id: string, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/reset_password', { path: { server_id } }, options),
  /** Boots a small Linux beside its disk; a generated password is shown to its owner alone. */
  rescueServer: (server_id: string, body: RescueRequest = {}, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/rescue', { path: { server_id }, body }, options),
  unrescueServer: (server_id: string, options?: CallOptions) =>
    call('POST /operator/servers/{server_id}/unrescue', { path: { server_id } }, options),
})

/** Announcements, ended ones too. */
const announcements = (call: Call) => ({
  /** One page, newest first. */
  announcements: (query: Query<'GET /operator/announcements'> = {}, options?: CallOptions) =>
    call('GET /operator/announcements', { query }, options),
  announcement: (announcement_id: string, options?: CallOptions) =>
    call('GET /operator/announcements/{announcement_id}', { path: { announcement_id } }, options),
  /** Shows it to the customers that it concerns, and mails their owners. */
  createAnnouncement: (body: AnnouncementCreate, options?: CallOptions) =>
    call('POST /operator/announcements', { body }, options),
  updateAnnouncement: (announcement_id: string, body: AnnouncementUpdate, options?: CallOptions) =>
    call('PATCH /operator/announcements/{announcement_id}', { path: { announcement_id }, body }, options),
  /** Customers no longer see it. */
  endAnnouncement: (announcement_id: string, options?: CallOptions) =>
    call('POST /operator/announcements/{announcement_id}/end', { path: { announcement_id } }, options),
})

/** Complaints about all accounts, which their customers answer. */
const complaints = (call: Call) => ({
  /** One page of the open ones or, by `status`, of the closed ones, each with the action to take. */
  complaints: (query: Query<'GET /operator/complaints'> = {}, options?: CallOptions) =>
    call('GET /operator/complaints', { query }, options),
  /** With all answers and replies. */
  complaint: (complaint_id: string, options?: CallOptions) =>
    call('GET /operator/complaints/{complaint_id}', { path: { complaint_id } }, options),
  /** Shows it to the customer, mails owners and admins, and reminds them before the deadline. */
  openComplaint: (account_id: string, body: ComplaintCreate, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/complaints', { path: { account_id }, body }, options),
  /** Asks for another answer. */
  replyToComplaint: (complaint_id: string, body: ComplaintReply, options?: CallOptions) =>
    call('POST /operator/complaints/{complaint_id}/replies', { path: { complaint_id }, body }, options),
  closeComplaint: (complaint_id: string, body: ComplaintClose, options?: CallOptions) =>
    call('POST /operator/complaints/{complaint_id}/close', { path: { complaint_id }, body }, options),
})

/** Payments of all accounts, and promo codes, whose credit ends. */
const money = (call: Call) => ({
  /** One page of the payments of all accounts. */
  payments: (query: Query<'GET /operator/payments'> = {}, options?: CallOptions) =>
    call('GET /operator/payments', { query }, options),
  payment: (payment_id: string, options?: CallOptions) =>
    call('GET /operator/payments/{payment_id}', { path: { payment_id } }, options),
  /** Gives a part of a payment back, as soon as the provider does. */
  refundPayment: (payment_id: string, body: RefundCreate, options?: CallOptions) =>
    call('POST /operator/payments/{payment_id}/refund', { path: { payment_id }, body }, options),
  /** Books money that arrived by bank transfer, once for each transaction of the bank. */
  bookTransfer: (body: Arrival, options?: CallOptions) => call('POST /operator/transfers', { body }, options),
  /** One page of promo codes, newest first, without the codes themselves. */
  promoCodes: (query: Query<'GET /operator/promo_codes'> = {}, options?: CallOptions) =>
    call('GET /operator/promo_codes', { query }, options),
  promoCode: (promo_code_id: string, options?: CallOptions) =>
    call('GET /operator/promo_codes/{promo_code_id}', { path: { promo_code_id } }, options),
  /** The reply is the only place that has the code. */
  createPromoCode: (body: PromoCodeCreate, options?: CallOptions) =>
    call('POST /operator/promo_codes', { body }, options),
  /** Credit that it gave stays. */
  revokePromoCode: (promo_code_id: string, options?: CallOptions) =>
    call('POST /operator/promo_codes/{promo_code_id}/revoke', { path: { promo_code_id } }, options),
})

/** The installation as a whole. */
const installation = (call: Call) => ({
  /** Lists each zone's capacity, and how much of it is sold. */
  capacity: (options?: CallOptions) => call('GET /operator/capacity', {}, options),
  /** One page of the signs of abuse, each with the action to take. */
  abuse: (query: Query<'GET /operator/abuse'> = {}, options?: CallOptions) =>
    call('GET /operator/abuse', { query }, options),
  /** The text of the catalogue in force, without secrets. */
  getCatalog: (options?: CallOptions) => call('GET /operator/catalog', {}, options),
  /** Lists the mistakes of a catalogue and its differences to the one in force; nothing changes. */
  checkCatalog: (body: CatalogCheck, options?: CallOptions) =>
    call('POST /operator/catalog/check', { body }, options),
  /** Replaces the catalogue, except for the parts that name files, networks and addresses of the host. */
  replaceCatalog: (body: CatalogReplacement, options?: CallOptions) =>
    call('PUT /operator/catalog', { body }, options),
  images: (options?: CallOptions) => call('GET /operator/images', {}, options),
  /** Counts the copies off site of snapshots, images and backups. */
  offsite: (options?: CallOptions) => call('GET /operator/offsite', {}, options),
  /** One page of the operations of all accounts that are in progress, or have failed. */
  operations: (query: Query<'GET /operator/operations'> = {}, options?: CallOptions) =>
    call('GET /operator/operations', { query }, options),
})

/** Invoices, statements and corrections of an account. */
const documents = (call: Call) => ({
  /** One page of the invoices, statements and corrections of an account. */
  documents: (
    account_id: string,
    query: Query<'GET /operator/accounts/{account_id}/documents'> = {},
    options?: CallOptions,
  ) => call('GET /operator/accounts/{account_id}/documents', { path: { account_id }, query }, options),
  /** With its lines and corrections. */
  document: (account_id: string, document_id: string, options?: CallOptions) =>
    call(
      'GET /operator/accounts/{account_id}/documents/{document_id}',
      { path: { account_id, document_id } },
      options,
    ),
  /** Issues a credit or debit note of an invoice and books it, once for each reference. */
  correctDocument: (account_id: string, document_id: string, body: CorrectionCreate, options?: CallOptions) =>
    call(
      'POST /operator/accounts/{account_id}/documents/{document_id}/corrections',
      { path: { account_id, document_id }, body },
      options,
    ),
})

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
  /** Replaces the prices of the account that differ from the catalogue; what it has costs them at once. */
  setPrices: (account_id: string, body: PriceChange, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/prices', { path: { account_id }, body }, options),
  /** Lets the account owe an amount before its servers are suspended. */
  setCreditLimit: (account_id: string, body: CreditLimitChange, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/credit_limit', { path: { account_id }, body }, options),
  /** Makes a link that signs the owner in. */
  createLogin: (account_id: string, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/login', { path: { account_id } }, options),
  /** Creates a token of the account; its value is shown once. */
  createToken: (account_id: string, body: TokenCreate, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/tokens', { path: { account_id }, body }, options),
  suspendAccount: (account_id: string, body: StatusChange, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/suspend', { path: { account_id }, body }, options),
  /** Cuts its servers off, refuses its tokens and members, and deletes nothing; `resumeAccount` undoes this. */
  freezeAccount: (account_id: string, body: StatusChange, options?: CallOptions) =>
    call('POST /operator/accounts/{account_id}/freeze', { path: { account_id }, body }, options),
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
  ...servers(call),
  ...announcements(call),
  ...complaints(call),
  ...money(call),
  ...installation(call),
  ...documents(call),
})
