import Type from 'typebox'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import {
  createPromoCode,
  findPromoCode,
  listPromoCodes,
  promoCodeView,
  redeem,
  revokePromoCode,
  type Tries,
} from './codes.ts'
import { listCredits, showCredit } from './credits.ts'
import {
  AccountCredit,
  creditProblems,
  NewPromoCode,
  PromoCode,
  PromoCodeCreate,
  Redemption,
} from './schema.ts'

const tag = 'Payments'
const path = '/account/credits'
const codes = '/operator/promo_codes'

interface CreditOptions {
  db: Database
  clock: Clock
  /** Counts attempts to redeem promo codes. */
  promoTries: Tries
}

export function creditRoutes(options: CreditOptions): Route[] {
  return [
    listRoute(options),
    redeemRoute(options),
    codesRoute(options),
    createRoute(options),
    ...codeRoutes(options),
  ]
}

function listRoute({ db }: CreditOptions): Route {
  return route({
    id: 'listCredits',
    method: 'GET',
    path,
    scope: 'account:read',
    tag,
    summary: 'List credits that end',
    description:
      'Credit by promo codes and of the trial, newest first. Charges use it before other money, what ends first at first. What is left at its end expires as a transaction of its own, once the time before is charged; the balance never falls below zero by it.',
    query: Type.Object(pagingQuery),
    reply: { 200: listOf(AccountCredit) },
    run: (call) =>
      paged(
        call,
        (page) => listCredits(db, call.actor.accountId, page),
        (credit) => credit,
      ),
  })
}

function redeemRoute({ db, clock, promoTries: tries }: CreditOptions): Route {
  return route({
    id: 'redeemPromoCode',
    method: 'POST',
    path,
    scope: 'account:write',
    deed: 'pay',
    tag,
    summary: 'Redeem a promo code',
    description:
      'Adds the credit of the code to the balance, once for each account. A debt is paid first. Credit is no payment: it raises no quotas and gives no grace. Wrong codes are limited: ten at once, then one in ten minutes, for each account and person.',
    body: Redemption,
    reply: { 201: AccountCredit },
    errors: [
      creditProblems.promo_code_invalid,
      creditProblems.promo_code_redeemed,
      creditProblems.too_many_credits,
    ],
    run: async ({ actor, body, remember }) =>
      showCredit(db, actor.accountId, await redeem({ db, clock, tries }, actor, body.code, remember)),
    recover: ({ actor }, creditId) => showCredit(db, actor.accountId, creditId),
  })
}

function codesRoute({ db }: CreditOptions): Route {
  return route({
    id: 'listPromoCodes',
    method: 'GET',
    path: codes,
    scope: 'operator:read',
    tag: 'Operator',
    summary: 'List promo codes',
    description:
      'All promo codes, newest first, without the codes themselves. They are kept for a year after the end of their validity.',
    query: Type.Object(pagingQuery),
    reply: { 200: listOf(PromoCode) },
    run: (call) => paged(call, (page) => listPromoCodes(db, page), promoCodeView),
  })
}

function createRoute(options: CreditOptions): Route {
  return route({
    id: 'createPromoCode',
    method: 'POST',
    path: codes,
    scope: 'operator:money',
    tag: 'Operator',
    summary: 'Create a promo code',
    description:
      'The reply shows the code; only its hash is stored. Send a `code` of yours to be able to repeat: with the same terms the first one is returned with 200. A code that can be guessed will be.',
    body: PromoCodeCreate,
    reply: { 201: NewPromoCode, 200: NewPromoCode },
    errors: [creditProblems.promo_code_exists],
    isRepeatable: true,
    run: async ({ body, report, setStatus }) => {
      const { row, code, isNew } = await createPromoCode(options, body)
      report({ event: 'promo_code_created', objectId: row.promo_code_id })
      setStatus(isNew ? 201 : 200)
      return { ...promoCodeView(row), code }
    },
  })
}

function codeRoutes(options: CreditOptions): Route[] {
  const onCode = {
    tag: 'Operator',
    params: { promo_code_id: creditProblems.promo_code_not_found },
    load: ({ params }: { params: { promo_code_id: string } }) =>
      findPromoCode(options.db, params.promo_code_id),
  }
  return [
    route({
      id: 'getPromoCode',
      method: 'GET',
      path: `${codes}/:promo_code_id`,
      scope: 'operator:read',
      ...onCode,
      summary: 'Get a promo code',
      description: 'The promo code and how often it was redeemed. The code itself is not stored.',
      reply: { 200: PromoCode },
      run: async ({ loaded }) => promoCodeView(loaded),
    }),
    route({
      id: 'revokePromoCode',
      method: 'POST',
      path: `${codes}/:promo_code_id/revoke`,
      scope: 'operator:money',
      ...onCode,
      summary: 'Revoke a promo code',
      description: 'Nobody can redeem it from here on. Credit that it gave stays with its accounts.',
      reply: { 200: PromoCode },
      isRepeatable: true,
      run: async ({ loaded: { promo_code_id }, report }) => {
        report({ event: 'promo_code_revoked', objectId: promo_code_id })
        return promoCodeView(await revokePromoCode(options, promo_code_id))
      },
    }),
  ]
}
