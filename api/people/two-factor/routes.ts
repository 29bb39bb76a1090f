import { type Route, route } from '../../http/contract/route.ts'
import { proofErrors } from '../guard/proof.ts'
import { PasswordProof } from '../guard/schema.ts'
import { peopleProblems } from '../person/schema.ts'
import { CodeProof, RecoveryCodes, TwoFactorConfirmation, TwoFactorSecret } from './schema.ts'
import type { TwoFactor } from './two-factor.ts'

const tag = 'Person'
const codeErrors = [...proofErrors, peopleProblems.wrong_code, peopleProblems.two_factor_off] as const

/** Codes as people copy them: in groups. */
export function plain<Body extends { code: string }>(body: Body): Body {
  return { ...body, code: body.code.replace(/[\s-]/g, '') }
}

/** Codes as people copy them: in groups. */
export function shown<Body extends { code?: string }>(body: Body): Body {
  return body.code === undefined ? body : { ...body, ...plain({ code: body.code }) }
}

/** Routes for a person's own second factor. */
export function twoFactorRoutes(twoFactor: TwoFactor): Route[] {
  return [...setUpRoutes(twoFactor), ...changeRoutes(twoFactor)]
}

function setUpRoutes(twoFactor: TwoFactor): Route[] {
  return [
    route({
      id: 'beginTwoFactor',
      method: 'POST',
      path: '/person/two-factor',
      scope: 'person',
      tag,
      summary: 'Set up two-factor authentication: get a secret for an app',
      description:
        'Nothing changes until a code of the app is sent to `POST /person/two-factor/confirm`, within an hour. A person without a password must have signed in within the last 10 minutes.',
      body: PasswordProof,
      reply: { 200: TwoFactorSecret },
      errors: [...proofErrors, peopleProblems.two_factor_on],
      run: ({ signedIn, body }) => twoFactor.begin(signedIn, body.password),
    }),
    route({
      id: 'confirmTwoFactor',
      method: 'POST',
      path: '/person/two-factor/confirm',
      scope: 'person',
      tag,
      summary: 'Turn two-factor authentication on, with a first code',
      description:
        'From then on, signing in requires a code, even after a password reset. Returns recovery codes, which are shown only once, and ends all other sessions of the person.',
      body: TwoFactorConfirmation,
      reply: { 200: RecoveryCodes },
      errors: [peopleProblems.wrong_code],
      run: async ({ signedIn, body, report }) => {
        const codes = await twoFactor.confirm(signedIn, plain(body).code)
        report({ event: 'two_factor_on', objectId: signedIn.personId })
        return { recovery_codes: codes }
      },
    }),
  ]
}

function changeRoutes(twoFactor: TwoFactor): Route[] {
  return [
    route({
      id: 'disableTwoFactor',
      method: 'POST',
      path: '/person/two-factor/disable',
      scope: 'person',
      tag,
      summary: 'Turn two-factor authentication off',
      description:
        'Requires the password and a code, which may be a recovery code. The secret of the app and all recovery codes are deleted, and all other sessions end.',
      body: CodeProof,
      reply: { 204: null },
      errors: codeErrors,
      run: async ({ signedIn, body, report }) => {
        await twoFactor.disable(signedIn, plain(body))
        report({ event: 'two_factor_off', objectId: signedIn.personId })
      },
    }),
    route({
      id: 'replaceRecoveryCodes',
      method: 'POST',
      path: '/person/two-factor/recovery-codes',
      scope: 'person',
      tag,
      summary: 'Replace the recovery codes',
      description: 'Returns ten recovery codes, which are shown only once. The earlier codes stop working.',
      body: CodeProof,
      reply: { 200: RecoveryCodes },
      errors: codeErrors,
      run: async ({ signedIn, body, report }) => {
        const codes = await twoFactor.replaceCodes(signedIn, plain(body))
        report({ event: 'recovery_codes_replaced', objectId: signedIn.personId })
        return { recovery_codes: codes }
      },
    }),
  ]
}
