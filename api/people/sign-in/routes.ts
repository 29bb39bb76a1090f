import { type Route, route } from '../../http/contract/route.ts'
import { MIN_PASSWORD } from '../guard/passwords.ts'
import type { Passkeys } from '../passkeys/passkeys.ts'
import { PasskeyChallenge, PasskeyUse } from '../passkeys/schema.ts'
import { writeCookie } from '../person/cookie.ts'
import { LinkUse, peopleProblems } from '../person/schema.ts'
import { endSession } from '../person/sessions.ts'
import type { Provider } from '../provider/provider.ts'
import { plain } from '../two-factor/routes.ts'
import type { SignInOptions as Options } from './admission.ts'
import { letIn } from './entry.ts'
import type { PasswordResets } from './password-reset.ts'
import {
  AddressRequest,
  PasswordReset,
  SignIn,
  SignInOptions,
  SignInRequest,
  SignUpCompletion,
  TicketUse,
} from './schema.ts'
import type { SignIns } from './sign-in.ts'
import type { SignUps } from './sign-up.ts'
import { operatorView } from './view.ts'

const signInTag = 'Sign-in'

interface Parts {
  signIns: SignIns
  signUps: SignUps
  passkeys: Passkeys
  provider: Provider | null
}

/** Signing up, and signing in with a password, a link, a code or a passkey. */
export function signInRoutes(options: Options, parts: Parts): Route[] {
  const { signIns, signUps, passkeys, provider } = parts
  return [
    optionsRoute(options, passkeys, provider),
    ...signUpRoutes(options, signUps),
    ...passwordRoutes(options, signIns),
    codeRoute(options, signIns),
    ...passkeySignInRoutes(options, parts),
  ]
}

function optionsRoute({ signUp, catalog }: Options, passkeys: Passkeys, provider: Provider | null): Route {
  return route({
    id: 'getSignInOptions',
    method: 'GET',
    path: '/sign-in/options',
    scope: 'anybody',
    tag: signInTag,
    summary: 'Get the ways to sign in and up',
    description: 'Returns the ways that the operator has set up. A sign-in page should offer these.',
    reply: { 200: SignInOptions },
    run: async () => ({
      sign_up: signUp,
      passkey_origin: passkeys.origin,
      provider: provider && { name: provider.name, origin: new URL(provider.returnUrl).origin },
      operator: operatorView(catalog),
      min_password: MIN_PASSWORD,
    }),
  })
}

function signUpRoutes(options: Options, signUps: SignUps): Route[] {
  return [
    route({
      id: 'requestSignUp',
      method: 'POST',
      path: '/sign-up',
      scope: 'anybody',
      tag: signInTag,
      summary: 'Sign up: send a link to an e-mail address',
      description:
        'Sends a link to the page on which the person chooses a name and a password. The reply is the same if the address is already registered; the mail then says so. The link works once, for 24 hours, and only the newest link works.',
      body: AddressRequest,
      reply: { 204: null },
      errors: [peopleProblems.sign_up_closed],
      run: ({ body, visit }) => signUps.request({ language: 'en', ...body }, visit),
    }),
    route({
      id: 'completeSignUp',
      method: 'POST',
      path: '/sign-up/complete',
      scope: 'anybody',
      tag: signInTag,
      summary: 'Finish signing up, with the link of the mail',
      description:
        'Creates the person with an account that they own, and signs them in. If the operator has opened an account for this address, and it has no members, they become its owner.',
      body: SignUpCompletion,
      reply: { 200: SignIn },
      errors: [peopleProblems.link_invalid, peopleProblems.terms_not_accepted],
      run: async (call) => letIn(options, await signUps.complete(call.body, call.visit), call),
    }),
  ]
}

function passwordRoutes(options: Options, signIns: SignIns): Route[] {
  return [
    route({
      id: 'signIn',
      method: 'POST',
      path: '/sign-in',
      scope: 'anybody',
      tag: signInTag,
      summary: 'Sign in with e-mail address and password',
      description:
        'Sets the cookie of a session, which lasts 90 days, and expires after 14 days without use. If the person has turned on two-factor authentication, it returns a `ticket` instead. The refusal does not reveal whether the address is known. After ten wrong passwords for an address from one network, further attempts have to wait.',
      body: SignInRequest,
      reply: { 200: SignIn },
      errors: [peopleProblems.sign_in_failed],
      run: async (call) => letIn(options, await signIns.signIn(call.body, call.visit), call),
    }),
    route({
      id: 'signInByLink',
      method: 'POST',
      path: '/sign-in/link',
      scope: 'anybody',
      tag: signInTag,
      summary: 'Sign in with a link from the operator',
      description:
        'Sets the cookie of a session. `npm start` and `npx berthd person link` create such a link, which works once.',
      body: LinkUse,
      reply: { 200: SignIn },
      errors: [peopleProblems.link_invalid],
      run: async (call) => letIn(options, await signIns.useLink(call.body.token, call.visit), call),
    }),
    route({
      id: 'signOut',
      method: 'POST',
      path: '/sign-out',
      scope: 'person',
      tag: signInTag,
      summary: 'Sign out',
      description: 'Ends the session of this request. Its event streams and consoles are closed.',
      reply: { 204: null },
      run: async ({ signedIn, visit, setHeader, report }) => {
        await endSession(options.db, signedIn.personId, signedIn.sessionId)
        setHeader('set-cookie', writeCookie(null, visit.isSecure, 0))
        report({ event: 'signed_out', objectId: signedIn.sessionId })
      },
    }),
  ]
}

/** The second step of every way to sign in, if there is a second factor. */
function codeRoute(options: Options, signIns: SignIns): Route {
  return route({
    id: 'signInByCode',
    method: 'POST',
    path: '/sign-in/two-factor',
    scope: 'anybody',
    tag: signInTag,
    summary: 'Complete a sign-in with a code: the second step',
    description:
      'Required if two-factor authentication is on. Takes the `ticket` of the first step, and a code from the app or a recovery code. Each code works once. After ten wrong codes for a person, from any network, further attempts have to wait.',
    body: TicketUse,
    reply: { 200: SignIn },
    errors: [peopleProblems.ticket_invalid, peopleProblems.wrong_code],
    run: async (call) => letIn(options, await signIns.useCode(plain(call.body), call.visit), call),
  })
}

function passkeySignInRoutes(options: Options, { signIns, passkeys }: Parts): Route[] {
  return [
    route({
      id: 'beginPasskeySignIn',
      method: 'POST',
      path: '/sign-in/passkey-challenge',
      scope: 'anybody',
      tag: signInTag,
      summary: 'Begin to sign in with a passkey: get a challenge',
      description:
        'The browser lets the user choose a passkey for `relying_party`, and signs the challenge with it within 10 minutes. No e-mail address is needed.',
      reply: { 200: PasskeyChallenge },
      errors: [peopleProblems.passkeys_unavailable],
      run: async () => passkeys.challenge(),
    }),
    route({
      id: 'signInByPasskey',
      method: 'POST',
      path: '/sign-in/passkey',
      scope: 'anybody',
      tag: signInTag,
      summary: 'Sign in with a passkey',
      description:
        'Sets the cookie of a session. A passkey counts as both factors, since its device verifies the user by fingerprint, face or PIN. A passkey without this verification is refused.',
      body: PasskeyUse,
      reply: { 200: SignIn },
      errors: [peopleProblems.ticket_invalid, peopleProblems.passkey_refused],
      run: async (call) => letIn(options, await signIns.usePasskey(call.body, call.visit), call),
    }),
  ]
}

/** Choosing a new password with a link from a mail. */
export function resetRoutes(options: Options, resets: PasswordResets): Route[] {
  return [
    route({
      id: 'requestPasswordReset',
      method: 'POST',
      path: '/password-reset',
      scope: 'anybody',
      tag: signInTag,
      summary: 'Send a link to choose another password',
      description:
        'The reply is the same if the address is not registered; the mail says so then. The link works once, for an hour.',
      body: AddressRequest,
      reply: { 204: null },
      run: ({ body, visit }) => resets.request({ language: 'en', ...body }, visit),
    }),
    route({
      id: 'completePasswordReset',
      method: 'POST',
      path: '/password-reset/complete',
      scope: 'anybody',
      tag: signInTag,
      summary: 'Choose another password, with the link of the mail',
      description:
        'Ends all sessions of the person and signs them in here. Two-factor authentication stays on, and its code is required. If the link has expired, request another one.',
      body: PasswordReset,
      reply: { 200: SignIn },
      errors: [peopleProblems.link_invalid],
      run: async (call) => {
        const entry = await resets.complete(call.body, call.visit)
        const reply = await letIn(options, entry, call)
        const { personId } = entry
        call.report({ event: 'password_changed', objectId: personId, personId })
        return reply
      },
    }),
  ]
}
