import type {
  AccountChoice,
  AddressRequest,
  CodeProof,
  EmailChangeRequest,
  IdentityTicket,
  LinkUse,
  OwnProof,
  PasskeyCreate,
  PasskeyUpdate,
  PasskeyUse,
  PasswordChange,
  PasswordProof,
  PasswordReset,
  PersonUpdate,
  ProviderAnswer,
  SignInRequest,
  SignUpCompletion,
  TicketUse,
  TwoFactorConfirmation,
} from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

/** Signing up and in, on a page of the service: the session is a cookie that scripts cannot read. */
export const signIn = (call: Call) => ({
  /** Shows the ways to sign in that the operator allows. */
  options: (options?: CallOptions) => call('GET /sign-in/options', {}, options),
  withPassword: (body: SignInRequest, options?: CallOptions) => call('POST /sign-in', { body }, options),
  /** Completes the second step, with the ticket of the first and a code. */
  withCode: (body: TicketUse, options?: CallOptions) => call('POST /sign-in/two-factor', { body }, options),
  /** Gets a challenge for a passkey. */
  beginPasskey: (options?: CallOptions) => call('POST /sign-in/passkey-challenge', {}, options),
  withPasskey: (body: PasskeyUse, options?: CallOptions) => call('POST /sign-in/passkey', { body }, options),
  /** Gets the page of the OpenID Connect provider to open. */
  beginProvider: (options?: CallOptions) => call('POST /sign-in/provider/begin', {}, options),
  /** Completes a sign-in with the query of the provider's redirect. */
  withProvider: (body: ProviderAnswer, options?: CallOptions) =>
    call('POST /sign-in/provider', { body }, options),
  /** Signs in with a one-time link from the operator. */
  withLink: (body: LinkUse, options?: CallOptions) => call('POST /sign-in/link', { body }, options),
  signOut: (options?: CallOptions) => call('POST /sign-out', {}, options),
  /** Sends a link to an address. */
  signUp: (body: AddressRequest, options?: CallOptions) => call('POST /sign-up', { body }, options),
  completeSignUp: (body: SignUpCompletion, options?: CallOptions) =>
    call('POST /sign-up/complete', { body }, options),
  /** Sends a link for choosing another password. */
  resetPassword: (body: AddressRequest, options?: CallOptions) =>
    call('POST /password-reset', { body }, options),
  completeReset: (body: PasswordReset, options?: CallOptions) =>
    call('POST /password-reset/complete', { body }, options),
})

/** The person who is signed in. */
export const person = (call: Call) => ({
  get: (options?: CallOptions) => call('GET /person', {}, options),
  update: (body: PersonUpdate, options?: CallOptions) => call('PATCH /person', { body }, options),
  /** Ends all other sessions. */
  changePassword: (body: PasswordChange, options?: CallOptions) =>
    call('POST /person/password', { body }, options),
  /** Sends a link to the new address. */
  requestEmailChange: (body: EmailChangeRequest, options?: CallOptions) =>
    call('POST /person/email', { body }, options),
  /** Confirms the new address with the link of the mail. Ends all other sessions. */
  confirmEmailChange: (body: LinkUse, options?: CallOptions) =>
    call('POST /person/email/confirm', { body }, options),
  /** Deletes the person for good, with everything that signs them in. Accounts without other members are closed. */
  delete: (body: OwnProof = {}, options?: CallOptions) => call('POST /person/delete', { body }, options),
  /** Gets a secret for an app. */
  beginTwoFactor: (body: PasswordProof = {}, options?: CallOptions) =>
    call('POST /person/two-factor', { body }, options),
  /** Turns two-factor authentication on; returns recovery codes. */
  confirmTwoFactor: (body: TwoFactorConfirmation, options?: CallOptions) =>
    call('POST /person/two-factor/confirm', { body }, options),
  disableTwoFactor: (body: CodeProof, options?: CallOptions) =>
    call('POST /person/two-factor/disable', { body }, options),
  replaceRecoveryCodes: (body: CodeProof, options?: CallOptions) =>
    call('POST /person/two-factor/recovery-codes', { body }, options),
  /** Connects the signed-in person with their identity at the provider. */
  addIdentity: (body: IdentityTicket, options?: CallOptions) =>
    call('POST /person/identity', { body }, options),
  removeIdentity: (body: OwnProof = {}, options?: CallOptions) =>
    call('POST /person/identity/delete', { body }, options),
  /** Switches the session to another account of the person. */
  chooseAccount: (body: AccountChoice, options?: CallOptions) =>
    call('POST /person/account', { body }, options),
})

/** The passkeys of the person. */
export function passkeys(call: Call) {
  const list = (query: Query<'GET /person/passkeys'> = {}, options?: CallOptions) =>
    call('GET /person/passkeys', { query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'passkey_id', {}, options),
    /** Gets the options with which the browser creates a passkey. */
    begin: (body: OwnProof = {}, options?: CallOptions) =>
      call('POST /person/passkey-challenge', { body }, options),
    create: (body: PasskeyCreate, options?: CallOptions) => call('POST /person/passkeys', { body }, options),
    update: (passkey_id: string, body: PasskeyUpdate, options?: CallOptions) =>
      call('PATCH /person/passkeys/{passkey_id}', { path: { passkey_id }, body }, options),
    delete: (passkey_id: string, body: OwnProof = {}, options?: CallOptions) =>
      call('POST /person/passkeys/{passkey_id}/delete', { path: { passkey_id }, body }, options),
  }
}

/** The browsers that the person is signed in with. */
export function sessions(call: Call) {
  const list = (query: Query<'GET /account/sessions'> = {}, options?: CallOptions) =>
    call('GET /account/sessions', { query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'session_id', {}, options),
    /** Signs that browser out. */
    delete: (session_id: string, options?: CallOptions) =>
      call('DELETE /account/sessions/{session_id}', { path: { session_id } }, options),
  }
}
