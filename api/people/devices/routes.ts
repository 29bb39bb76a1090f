import { accountProblems, NewToken } from '../../accounts/schema.ts'
import { tokenView } from '../../accounts/view.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { ApiError, httpProblems } from '../../http/contract/problem.ts'
import { type Route, route } from '../../http/contract/route.ts'
import { networkOf } from '../../http/limits/rate-limit.ts'
import { pageOn } from '../person/links.ts'
import type { SignInOptions } from '../sign-in/admission.ts'
import { askedScopes, DeviceLogins, withDash } from './devices.ts'
import {
  DeviceApproval,
  DeviceCodeEntry,
  DeviceLogin,
  DeviceLoginRequest,
  DeviceLoginStart,
  DeviceTokenRequest,
  deviceProblems,
} from './schema.ts'

const tag = 'Sign-in'

/** Routes by which a program on a machine without a browser gets a token (RFC 8628). */
export function deviceRoutes(options: SignInOptions): Route[] {
  const logins = new DeviceLogins(options)
  return [startRoute(options, logins), tokenRoute(logins), ...decisionRoutes(logins)]
}

function startRoute(options: SignInOptions, logins: DeviceLogins): Route {
  return route({
    id: 'startDeviceLogin',
    method: 'POST',
    path: '/device',
    scope: 'anybody',
    tag,
    summary: 'Start the login of a program without a browser',
    description:
      'Device authorization as in RFC 8628, with JSON: show `user_code` and `verification_uri` to the person, and poll `POST /device/token` with `device_code` every `interval` seconds until they have approved it. A network can start 10 logins at once, then one a minute. An installation without the console has no page for approval; log in with a token there.',
    body: DeviceLoginRequest,
    reply: { 200: DeviceLoginStart },
    errors: [deviceProblems.no_console],
    run: async ({ body, visit }) => {
      if (!options.hasConsole) throw noConsole()
      const { client_name: clientName, scopes = null } = body
      const { deviceCode, userCode, expiresInMs, intervalMs } = await logins.start(
        { clientName, scopes },
        visit,
      )
      const user_code = withDash(userCode)
      return {
        device_code: deviceCode,
        user_code,
        verification_uri: String(pageOn(options, '/device', '')),
        verification_uri_complete: String(pageOn(options, '/device', user_code)),
        expires_in: expiresInMs / 1000,
        interval: intervalMs / 1000,
      }
    },
  })
}

function noConsole(): ApiError {
  return new ApiError(
    deviceProblems.no_console,
    'This installation has no console, so logins cannot be approved. Use a token.',
  )
}

function tokenRoute(logins: DeviceLogins): Route {
  return route({
    id: 'redeemDeviceLogin',
    method: 'POST',
    path: '/device/token',
    scope: 'anybody',
    tag,
    summary: 'Get the token of a login that was approved',
    description:
      'Replies 400 `authorization_pending` until a person decides, or `slow_down` if it is polled too often. The token belongs to the account that the person chose, is named `client_name`, and lasts 90 days. It is returned once: if the reply is lost, start again.',
    body: DeviceTokenRequest,
    reply: { 200: NewToken },
    errors: [
      deviceProblems.authorization_pending,
      deviceProblems.slow_down,
      deviceProblems.access_denied,
      deviceProblems.expired_token,
      accountProblems.quota_exceeded,
      accountProblems.account_suspended,
    ],
    run: async ({ body, report }) => {
      const { value, ...row } = await logins.redeem(body.device_code)
      const { token_id: objectId, person_id: personId } = row
      report({ event: 'token_created', objectId, ...(personId === null ? {} : { personId }) })
      return { ...tokenView(row), token: value }
    },
  })
}

function decisionRoutes(logins: DeviceLogins): Route[] {
  const common = { method: 'POST', scope: 'person', tag } as const
  return [
    route({
      ...common,
      id: 'lookAtDeviceLogin',
      path: '/device/look',
      summary: 'Get the program that shows a code',
      description:
        'Returns the program that requests access, without approving or denying it. After ten wrong codes from a person, further attempts have to wait.',
      body: DeviceCodeEntry,
      reply: { 200: DeviceLogin },
      errors: [deviceProblems.user_code_not_found],
      run: async ({ body, signedIn, visit }) => {
        const row = await logins.look(body.user_code, signedIn, visit)
        return {
          client_name: row.client_name,
          address: row.address,
          is_from_here: networkOf(row.address) === networkOf(visit.address),
          scopes: askedScopes(row),
          created_at: isoTime(row.created_at),
          expires_at: isoTime(row.expires_at),
        }
      },
    }),
    route({
      ...common,
      id: 'approveDeviceLogin',
      path: '/device/approve',
      summary: 'Approve a program, which gets a token of an account',
      description:
        'The token has the scopes that the program requested, or else those of the role of the person in the account; it never has more scopes than the role. Approve only what you started yourself.',
      body: DeviceApproval,
      reply: { 204: null },
      errors: [
        deviceProblems.user_code_not_found,
        httpProblems.not_a_member,
        httpProblems.insufficient_scope,
        accountProblems.account_suspended,
      ],
      run: ({ body, signedIn, visit }) =>
        logins.approve({ code: body.user_code, accountId: body.account_id }, signedIn, visit),
    }),
    route({
      ...common,
      id: 'denyDeviceLogin',
      path: '/device/deny',
      summary: 'Deny access to a program',
      description: 'The code is no longer valid. The program gets 400 `access_denied`.',
      body: DeviceCodeEntry,
      reply: { 204: null },
      errors: [deviceProblems.user_code_not_found],
      run: ({ body, signedIn, visit }) => logins.deny(body.user_code, signedIn, visit),
    }),
  ]
}
