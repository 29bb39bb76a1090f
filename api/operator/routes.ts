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
import { addCredit, listAccounts, setStatus, showAccount } from './accounts.ts'
import { imagesByPool, roomByZone } from './hosts.ts'
import {
  AccountQuery,
  Credit,
  OperatedAccount,
  OperatedImage,
  OperatedOperationQuery,
  operatedOperation,
  operatorProblems,
  StatusChange,
  ZoneRoom,
} from './schema.ts'

const tag = 'Operator'
const scope = 'operator'

export interface OperatorOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  drivers: Drivers
  operationSchemas: OperationSchemas
  /** The quotas of all features. */
  quotas: readonly Quota[]
}

/** Operators' views of all accounts, and their actions on one. */
export function operatorRoutes(options: OperatorOptions): Route[] {
  return [
    accountsRoute(options),
    ...statusRoutes(options),
    creditRoute(options),
    ...hostRoutes(options),
    operationsRoute(options),
  ]
}

function accountsRoute(options: OperatorOptions): Route {
  return route({
    id: 'listOperatedAccounts',
    method: 'GET',
    path: '/operator/accounts',
    scope,
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

const AUDITED =
  "The audit of the account names the operator and the amount, and the account's events and transactions have the reason: its customer sees both."

/** The parts that routes about one account share. */
function onAccount(options: OperatorOptions) {
  return {
    params: { account_id: operatorProblems.account_not_found },
    load: async ({ params: { account_id } }: { params: { account_id: string } }) => {
      if (!(await isAccount(options.db, account_id))) throw notFound(operatorProblems.account_not_found)
    },
    recover: (_call: unknown, accountId: string) => showAccount(options, accountId),
  }
}

function statusRoutes(options: OperatorOptions): Route[] {
  return [
    route({
      id: 'suspendAccount',
      method: 'POST',
      path: '/operator/accounts/:account_id/suspend',
      scope,
      tag,
      summary: 'Suspend an account',
      description: `Within 5 seconds its servers are stopped, and it can only read, stop and delete. ${AUDITED}`,
      ...onAccount(options),
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
      scope,
      tag,
      summary: 'Resume a suspended account',
      description: `Within 5 seconds the servers that its suspension stopped are started, if the balance allows. ${AUDITED}`,
      ...onAccount(options),
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
    scope,
    tag,
    summary: 'Credit the balance of an account',
    description: `Adds a payment or a gift to the ledger, once for each reference of the installation: a repeat returns the same reply and changes nothing. A closed account gets nothing. ${AUDITED}`,
    ...onAccount(options),
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
      scope,
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
      scope,
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
    scope,
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
