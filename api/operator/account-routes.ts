import type { Static } from 'typebox'
import { type Minting, mintToken } from '../accounts/minting.ts'
import { atLimit } from '../accounts/quotas.ts'
import { accountProblems, NewToken, TokenCreate } from '../accounts/schema.ts'
import { readToken } from '../accounts/token-input.ts'
import { tokenQuota } from '../accounts/tokens.ts'
import { tokenView } from '../accounts/view.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Quota } from '../feature.ts'
import { scopeNames } from '../http/contract/auth.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { type Call, type Route, route } from '../http/contract/route.ts'
import { serverProblems } from '../servers/schema.ts'
import { CLOSED_DAYS } from '../servers/suspension.ts'
import {
  asOperator,
  bookFor,
  changeCreditLimit,
  closeAccount,
  freezeAccount,
  listAccounts,
  openAccount,
  resumeAccount,
  setLimits,
  setPrices,
  setStatus,
  showAccount,
  updateAccount,
} from './accounts.ts'
import { createLogin } from './login.ts'
import { LoginLink } from './login-schema.ts'
import {
  AccountClose,
  AccountQuery,
  AccountUpdate,
  accountCreate,
  Credit,
  CreditLimitChange,
  Debit,
  limitChange,
  OperatedAccount,
  operatorProblems,
  PriceChange,
  StatusChange,
} from './schema.ts'
import { requireAccount } from './servers.ts'

const tag = 'Operator'

export interface OperatorAccountOptions extends Minting {
  /** The quotas of all features. */
  quotas: readonly Quota[]
  catalog: Catalog
  /** The address of the console. */
  siteUrl: () => string
  /** Called when the connectivity of servers has changed. */
  changed: (serverIds: readonly string[]) => void
}

/** Operators' views of all accounts, and their actions on one. */
export function operatorAccountRoutes(options: OperatorAccountOptions): Route[] {
  return [
    accountsRoute(options),
    ...accountRoutes(options),
    ...describingRoutes(options),
    loginRoute(options),
    tokenRoute(options),
    pricesRoute(options),
    creditLimitRoute(options),
    ...statusRoutes(options),
    freezeRoute(options),
    ...moneyRoutes(options),
  ]
}

const AUDITED =
  "The audit of the account names the operator and the amount, and the account's events and transactions have the reason: its customer sees both."

/** The parts that routes about one account share. */
function onAccount({ db }: OperatorAccountOptions) {
  return {
    params: { account_id: operatorProblems.account_not_found },
    load: ({ params: { account_id } }: { params: { account_id: string } }) => requireAccount(db, account_id),
  }
}

/** The parts that changes of an account share, each of which can be repeated with its key. */
function changing(options: OperatorAccountOptions) {
  return {
    ...onAccount(options),
    recover: (_call: unknown, accountId: string) => showAccount(options, accountId),
  }
}

function accountsRoute(options: OperatorAccountOptions): Route {
  return route({
    id: 'listOperatedAccounts',
    method: 'GET',
    path: '/operator/accounts',
    scope: 'operator:read',
    tag,
    summary: 'List the accounts of the installation',
    description:
      'All accounts with balance, payments and status, newest first; filters are combined with and. Closed accounts are listed, too.',
    query: AccountQuery,
    reply: { 200: listOf(OperatedAccount) },
    run: (call) =>
      paged(
        call,
        (page) => listAccounts(options, call.query, page),
        (account) => account,
      ),
  })
}

function accountRoutes(options: OperatorAccountOptions): Route[] {
  return [
    route({
      id: 'createOperatedAccount',
      method: 'POST',
      path: '/operator/accounts',
      scope: 'operator:write',
      tag,
      summary: 'Create an account for a customer',
      description:
        'The person who signs up with its address later becomes its owner; `POST /operator/accounts/{account_id}/login` needs no sign-up. A repeat with the same address and external id returns the first account with 200, as it is. `quotas` sets limits as `…/limits` does later.',
      body: accountCreate(options.quotas),
      reply: { 201: OperatedAccount, 200: OperatedAccount },
      errors: [operatorProblems.account_exists],
      isRepeatable: true,
      run: async ({ body, setStatus }) => {
        const { account, isNew } = await openAccount(options, body)
        setStatus(isNew ? 201 : 200)
        return account
      },
    }),
    route({
      id: 'getOperatedAccount',
      method: 'GET',
      path: '/operator/accounts/:account_id',
      scope: 'operator:read',
      tag,
      summary: 'Get an account',
      description:
        'The account with balance, payments and status. Find it by the id of your own with `GET /operator/accounts?external_id=`.',
      ...onAccount(options),
      reply: { 200: OperatedAccount },
      run: ({ params: { account_id } }) => showAccount(options, account_id),
    }),
  ]
}

function describingRoutes(options: OperatorAccountOptions): Route[] {
  return [
    route({
      id: 'updateOperatedAccount',
      method: 'PATCH',
      path: '/operator/accounts/:account_id',
      scope: 'operator:write',
      tag,
      summary: 'Change the name, the external id, the tags and the notes of an account',
      description:
        'Fields that are not named stay as they are. Its customer sees the name, and in the audit that something changed; tags and notes are for operators alone.',
      ...onAccount(options),
      body: AccountUpdate,
      reply: { 200: OperatedAccount },
      errors: [operatorProblems.account_exists],
      run: ({ params: { account_id }, body }) => updateAccount(options, account_id, body),
    }),
    route({
      id: 'setAccountLimits',
      method: 'POST',
      path: '/operator/accounts/:account_id/limits',
      scope: 'operator:write',
      tag,
      summary: 'Set limits of an account',
      description: `Limits that are not named stay as they are; null returns one to the default. What the account has already stays, even above a new limit. ${AUDITED}`,
      ...changing(options),
      body: limitChange(options.quotas),
      reply: { 200: OperatedAccount },
      run: ({ params: { account_id }, body }) => setLimits(options, account_id, body),
    }),
  ]
}

function pricesRoute(options: OperatorAccountOptions): Route {
  return route({
    id: 'setAccountPrices',
    method: 'POST',
    path: '/operator/accounts/:account_id/prices',
    scope: 'operator:money',
    tag,
    summary: 'Set the prices of an account',
    description: `A percentage on or off all prices of the catalogue, and prices of its own for presets. They replace what was set before; 0 and no presets return to the catalogue. Quotes and orders have them at once, and what the account has costs them from this moment, each at the prices of the day that it keeps. ${AUDITED}`,
    ...changing(options),
    body: PriceChange,
    reply: { 200: OperatedAccount },
    run: ({ params: { account_id }, body }) => setPrices(options, account_id, body),
  })
}

function creditLimitRoute(options: OperatorAccountOptions): Route {
  return route({
    id: 'setCreditLimit',
    method: 'POST',
    path: '/operator/accounts/:account_id/credit_limit',
    scope: 'operator:money',
    tag,
    summary: 'Let an account pay afterwards',
    description: `Orders, warnings and suspension count the limit as if it were on the balance, which may fall below zero by it. Debts stay when it is lowered: the next charge then begins the grace period. ${AUDITED}`,
    ...changing(options),
    body: CreditLimitChange,
    reply: { 200: OperatedAccount },
    run: ({ params: { account_id }, body }) => changeCreditLimit(options, account_id, body),
  })
}

function loginRoute(options: OperatorAccountOptions): Route {
  return route({
    id: 'createLogin',
    method: 'POST',
    path: '/operator/accounts/:account_id/login',
    scope: 'operator:write',
    tag,
    summary: 'Create a link that signs the owner of an account in',
    description:
      'The link is good once, for 5 minutes, and revokes earlier ones. Send the customer there from a page of yours, if they have proven that the address in `email` is theirs: the owner may have changed. A second factor is asked for as ever. The audit of the account names the operator.',
    ...onAccount(options),
    reply: { 201: LoginLink },
    errors: [operatorProblems.account_status_conflict, operatorProblems.owner_unclear],
    isRepeatable: true,
    run: async ({ params: { account_id }, report }) => {
      const { personId, ...link } = await createLogin(options, account_id)
      report({ event: 'login_link_created', objectId: personId })
      return link
    },
  })
}

function tokenRoute(options: OperatorAccountOptions): Route {
  const { clock } = options
  const mint = async (
    {
      params: { account_id: accountId },
      body,
      remember,
      report,
    }: Call<'account_id', unknown, Static<typeof TokenCreate>, unknown>,
    replaces: string | null,
  ) => {
    const wanted = { ...readToken(body, clock.now()), replaces }
    const operator = { accountId, tokenId: null, person: null, scopes: scopeNames }
    const { value, ...row } = await asOperator(() => mintToken(options, operator, wanted, remember))
    report({ event: 'token_created', objectId: row.token_id })
    return { ...tokenView(row), token: value }
  }
  return route({
    id: 'createAccountToken',
    method: 'POST',
    path: '/operator/accounts/:account_id/tokens',
    scope: 'operator:write',
    tag,
    summary: 'Create an API token of an account',
    description:
      'For programs that order and manage servers for a customer. The reply shows the value once; it stays valid when the operator’s token is revoked. The customer sees it among the tokens, and in the audit who created it, and can revoke it.',
    ...onAccount(options),
    body: TokenCreate,
    reply: { 201: NewToken },
    problems: { quota_exceeded: atLimit(tokenQuota) },
    errors: [
      accountProblems.quota_exceeded,
      accountProblems.token_not_found,
      accountProblems.account_suspended,
    ],
    run: (call) => mint(call, null),
    // The value is not stored and was never delivered, so another token replaces this one.
    recover: (call, tokenId) => mint(call, tokenId),
  })
}

function statusRoutes(options: OperatorAccountOptions): Route[] {
  return [
    route({
      id: 'suspendAccount',
      method: 'POST',
      path: '/operator/accounts/:account_id/suspend',
      scope: 'operator:write',
      tag,
      summary: 'Suspend an account',
      description: `Within 5 seconds its servers are stopped, and it can only read, stop, delete, pay and answer complaints. ${AUDITED}`,
      ...changing(options),
      body: StatusChange,
      reply: { 200: OperatedAccount },
      errors: [operatorProblems.account_status_conflict],
      run: ({ params: { account_id }, body: { reason }, report, remember }) => {
        report({ event: 'account_suspended', objectId: account_id })
        return setStatus(options, account_id, { from: ['active'], to: 'suspended', reason }, remember)
      },
    }),
    route({
      id: 'resumeAccount',
      method: 'POST',
      path: '/operator/accounts/:account_id/resume',
      scope: 'operator:write',
      tag,
      summary: 'Resume a suspended, frozen or closed account',
      description: `Within 5 seconds the servers that were stopped with it are started, if the balance allows; none of them is deleted. ${AUDITED}`,
      ...changing(options),
      body: StatusChange,
      reply: { 200: OperatedAccount },
      errors: [operatorProblems.account_status_conflict],
      run: ({ params: { account_id }, body: { reason }, report, remember }) => {
        report({ event: 'account_resumed', objectId: account_id })
        return resumeAccount(options, account_id, reason, remember)
      },
    }),
    route({
      id: 'closeAccount',
      method: 'POST',
      path: '/operator/accounts/:account_id/close',
      scope: 'operator:write',
      tag,
      summary: 'Close an account',
      description: `It can only be read. Its servers stop within 5 seconds and are deleted after ${CLOSED_DAYS} days; until then \`resume\` undoes this, but its saved payment methods are forgotten within minutes. ${AUDITED}`,
      ...changing(options),
      body: AccountClose,
      reply: { 200: OperatedAccount },
      errors: [operatorProblems.account_status_conflict, serverProblems.delete_protected],
      run: ({ params: { account_id }, body, report, remember }) => {
        report({ event: 'account_closed', objectId: account_id })
        return closeAccount(options, account_id, body, remember)
      },
    }),
  ]
}

function freezeRoute(options: OperatorAccountOptions): Route {
  return route({
    id: 'freezeAccount',
    method: 'POST',
    path: '/operator/accounts/:account_id/freeze',
    scope: 'operator:write',
    tag,
    summary: 'Freeze an account, with its evidence kept',
    description: `At once its servers are cut off the network, and its tokens and members are refused (\`account_frozen\`); within 5 seconds its servers are powered off, those with an operation in progress or a copy being made when that has ended. Nothing of it is deleted before its time, and it cannot be closed, until \`resume\` undoes this, which makes an account active that was suspended or closed before. A repeat changes nothing. ${AUDITED}`,
    ...changing(options),
    body: StatusChange,
    reply: { 200: OperatedAccount },
    errors: [operatorProblems.account_status_conflict],
    run: ({ params: { account_id }, body: { reason }, report, remember }) => {
      report({ event: 'account_frozen', objectId: account_id })
      return freezeAccount(options, account_id, reason, remember)
    },
  })
}

function moneyRoutes(options: OperatorAccountOptions): Route[] {
  const shared = {
    ...changing(options),
    method: 'POST',
    scope: 'operator:money',
    tag,
    reply: { 200: OperatedAccount },
    errors: [operatorProblems.account_status_conflict, operatorProblems.reference_taken],
  } as const
  return [
    route({
      id: 'creditAccount',
      path: '/operator/accounts/:account_id/credit',
      summary: 'Credit the balance of an account',
      description: `Adds a payment or a gift to the ledger, once for each reference of the installation: a repeat returns the same reply and changes nothing. A closed account gets nothing. ${AUDITED}`,
      ...shared,
      body: Credit,
      run: ({ params: { account_id }, body, report }) => {
        report({ event: 'account_credited', objectId: account_id })
        return bookFor(options, account_id, 1, body)
      },
    }),
    route({
      id: 'debitAccount',
      path: '/operator/accounts/:account_id/debit',
      summary: 'Debit the balance of an account',
      description: `Takes an amount from the ledger, once for each reference of the installation, even below zero. A closed account can be debited, to pay back what it has. ${AUDITED}`,
      ...shared,
      body: Debit,
      run: ({ params: { account_id }, body, report }) => {
        report({ event: 'account_debited', objectId: account_id })
        return bookFor(options, account_id, -1, body)
      },
    }),
  ]
}
