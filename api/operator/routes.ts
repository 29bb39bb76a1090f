import Type from 'typebox'
import { isAccount } from '../accounts/accounts.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Quota } from '../feature.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { notFound } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import { operationsOfAll } from '../operations/operations.ts'
import type { OperationSchemas } from '../operations/schema.ts'
import { operationView } from '../operations/view.ts'
import { addCredit, listAccounts, openAccount, setLimits, setStatus, showAccount } from './accounts.ts'
import { imagesByPool, roomByZone } from './hosts.ts'
import { createLogin } from './login.ts'
import {
  AccountCreate,
  AccountQuery,
  Credit,
  LoginLink,
  limitChange,
  OperatedAccount,
  OperatedImage,
  OperatedOperationQuery,
  operatedOperation,
  operatorProblems,
  StatusChange,
  ZoneRoom,
} from './schema.ts'

const tag = 'Operator'

export interface OperatorOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  drivers: Drivers
  operationSchemas: OperationSchemas
  /** The quotas of all features. */
  quotas: readonly Quota[]
  /** The address of the console. */
  siteUrl: () => string
}

/** Operators' views of all accounts, and their actions on one. */
export function operatorRoutes(options: OperatorOptions): Route[] {
  return [
    accountsRoute(options),
    ...accountRoutes(options),
    loginRoute(options),
    ...statusRoutes(options),
    creditRoute(options),
    ...hostRoutes(options),
    operationsRoute(options),
  ]
}

const AUDITED =
  "The audit of the account names the operator and the amount, and the account's events and transactions have the reason: its customer sees both."

/** The parts that routes about one account share. */
function onAccount({ db }: OperatorOptions) {
  return {
    params: { account_id: operatorProblems.account_not_found },
    load: async ({ params: { account_id } }: { params: { account_id: string } }) => {
      if (!(await isAccount(db, account_id))) throw notFound(operatorProblems.account_not_found)
    },
  }
}

/** The parts that changes of an account share, each of which can be repeated with its key. */
function changing(options: OperatorOptions) {
  return {
    ...onAccount(options),
    recover: (_call: unknown, accountId: string) => showAccount(options, accountId),
  }
}

function accountsRoute(options: OperatorOptions): Route {
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

function accountRoutes(options: OperatorOptions): Route[] {
  return [
    route({
      id: 'createOperatedAccount',
      method: 'POST',
      path: '/operator/accounts',
      scope: 'operator:write',
      tag,
      summary: 'Create an account for a customer',
      description:
        'The person who signs up with its address later becomes its owner; `POST /operator/accounts/{account_id}/login` needs no sign-up. A repeat with the same address and external id returns the first account with 200.',
      body: AccountCreate,
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

function loginRoute(options: OperatorOptions): Route {
  return route({
    id: 'createLogin',
    method: 'POST',
    path: '/operator/accounts/:account_id/login',
    scope: 'operator:write',
    tag,
    summary: 'Create a link that signs the owner of an account in',
    description:
      'The link is good once, for 5 minutes, and revokes earlier ones. Send the customer there from a page of yours, where they have proven that the e-mail address is theirs. A second factor is asked for as ever. The audit of the account names the operator.',
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

function statusRoutes(options: OperatorOptions): Route[] {
  return [
    route({
      id: 'suspendAccount',
      method: 'POST',
      path: '/operator/accounts/:account_id/suspend',
      scope: 'operator:write',
      tag,
      summary: 'Suspend an account',
      description: `Within 5 seconds its servers are stopped, and it can only read, stop and delete. ${AUDITED}`,
      ...changing(options),
      body: StatusChange,
      reply: { 200: OperatedAccount },
      errors: [operatorProblems.account_status_conflict],
      run: ({ params: { account_id }, body: { reason }, report, remember }) => {
        report({ event: 'account_suspended', objectId: account_id })
        return setStatus(options, account_id, { from: 'active', to: 'suspended', reason }, remember)
      },
    }),
    route({
      id: 'resumeAccount',
      method: 'POST',
      path: '/operator/accounts/:account_id/resume',
      scope: 'operator:write',
      tag,
      summary: 'Resume a suspended account',
      description: `Within 5 seconds the servers that its suspension stopped are started, if the balance allows. ${AUDITED}`,
      ...changing(options),
      body: StatusChange,
      reply: { 200: OperatedAccount },
      errors: [operatorProblems.account_status_conflict],
      run: ({ params: { account_id }, body: { reason }, report, remember }) => {
        report({ event: 'account_resumed', objectId: account_id })
        return setStatus(options, account_id, { from: 'suspended', to: 'active', reason }, remember)
      },
    }),
  ]
}

function creditRoute(options: OperatorOptions): Route {
  return route({
    id: 'creditAccount',
    method: 'POST',
    path: '/operator/accounts/:account_id/credit',
    scope: 'operator:money',
    tag,
    summary: 'Credit the balance of an account',
    description: `Adds a payment or a gift to the ledger, once for each reference of the installation: a repeat returns the same reply and changes nothing. A closed account gets nothing. ${AUDITED}`,
    ...changing(options),
    body: Credit,
    reply: { 200: OperatedAccount },
    errors: [operatorProblems.account_status_conflict, operatorProblems.reference_taken],
    run: ({ params: { account_id }, body, report }) => {
      report({ event: 'account_credited', objectId: account_id })
      return addCredit(options, account_id, body)
    },
  })
}

function hostRoutes(options: OperatorOptions): Route[] {
  return [
    route({
      id: 'listZoneRoom',
      method: 'GET',
      path: '/operator/capacity',
      scope: 'operator:read',
      tag,
      summary: 'List the capacity of each zone, and how much of it is sold',
      description:
        'One row for each zone of the catalogue, retired ones too. Zones with the same pool share its usage. Hosts that do not answer within 3 seconds have no total.',
      reply: { 200: Type.Array(ZoneRoom) },
      run: () => roomByZone(options),
    }),
    route({
      id: 'listImages',
      method: 'GET',
      path: '/operator/images',
      scope: 'operator:read',
      tag,
      summary: 'List the images of the templates, with their progress',
      description:
        'One row for each template and kind of machines. Listing prepares nothing: an image is prepared for the first server that needs it, or by `berthd image pull`. The progress is that of the process that replies.',
      reply: { 200: Type.Array(OperatedImage) },
      run: () => imagesByPool(options),
    }),
  ]
}

function operationsRoute({ db, operationSchemas }: OperatorOptions): Route {
  return route({
    id: 'listOperatedOperations',
    method: 'GET',
    path: '/operator/operations',
    scope: 'operator:read',
    tag,
    summary: 'List the operations of all accounts that are in progress or failed',
    description:
      'Returns the operations, newest first. Failed ones are searched for among the last 10,000 operations of all accounts, including those on deleted resources.',
    query: OperatedOperationQuery,
    reply: { 200: listOf(operatedOperation(operationSchemas)) },
    run: (call) =>
      paged(
        call,
        (page) => operationsOfAll(db, call.query.state ?? 'active', page),
        (row) => ({ account_id: row.account_id, ...operationView(row) }),
      ),
  })
}
