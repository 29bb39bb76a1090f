import { type Route, route } from '../../http/contract/route.ts'
import type { Tickets } from '../guard/tickets.ts'
import { peopleProblems } from '../person/schema.ts'
import { letIn } from '../sign-in/entry.ts'
import type { SignInOptions, SignIns } from '../sign-in/sign-in.ts'
import { addIdentity, noProvider, removeIdentity } from './identities.ts'
import type { Provider } from './provider.ts'
import { IdentityTicket, ProviderAnswer, ProviderBeginning, ProviderSignIn } from './schema.ts'

interface Parts {
  provider: Provider | null
  tickets: Tickets
  signIns: SignIns
}

/** Signing in with what a person is elsewhere. */
export function providerRoutes(options: SignInOptions, parts: Parts): Route[] {
  return [...signInRoutes(options, parts), ...identityRoutes(options, parts)]
}

function signInRoutes({ db }: SignInOptions, { provider, tickets, signIns }: Parts): Route[] {
  return [
    route({
      id: 'beginProviderSignIn',
      method: 'POST',
      path: '/sign-in/provider/begin',
      scope: 'anybody',
      tag: 'Sign-in',
      summary: 'Begin to sign in with the provider: get where to go',
      description:
        'Open `url` in the browser, and keep the `ticket` where only pages of this origin find it: the provider leads back to `/sign-in/provider` of the console, within 10 minutes. What it answers is of no use without the ticket.',
      reply: { 200: ProviderBeginning },
      errors: [peopleProblems.no_provider],
      run: async () => {
        if (!provider) throw noProvider()
        const { url, expected } = await provider.begin()
        return { url, ticket: tickets.issue('provider', expected) }
      },
    }),
    route({
      id: 'signInByProvider',
      method: 'POST',
      path: '/sign-in/provider',
      scope: 'anybody',
      tag: 'Sign-in',
      summary: 'Sign in with what the provider answered',
      description:
        'Sets the cookie of a session, or returns a `ticket` where a second factor is missing. Who is new here signs up by it, where the operator lets everybody; who has signed up before with the address gets an `identity_ticket`, signs in as usual once and connects both with it.',
      body: ProviderAnswer,
      reply: { 200: ProviderSignIn },
      errors: [
        peopleProblems.no_provider,
        peopleProblems.ticket_invalid,
        peopleProblems.provider_refused,
        peopleProblems.email_unverified,
        peopleProblems.sign_up_closed,
      ],
      run: async (call) => {
        const entry = await signIns.useProvider({ language: 'en', ...call.body }, call.visit)
        if ('identityTicket' in entry)
          return { is_signed_in: false, person: null, ticket: null, identity_ticket: entry.identityTicket }
        return { ...(await letIn(db, entry, call)), identity_ticket: null }
      },
    }),
  ]
}

function identityRoutes(options: SignInOptions, { tickets }: Parts): Route[] {
  return [
    route({
      id: 'addIdentity',
      method: 'POST',
      path: '/person/identity',
      scope: 'person',
      tag: 'Person',
      summary: 'Connect the person with what she is at the provider',
      description:
        'Takes the `identity_ticket` of `POST /sign-in/provider`, from the person with that address, who must have signed in within the last 10 minutes. From then on the provider signs her in, whatever her address there becomes; an earlier connection ends.',
      body: IdentityTicket,
      reply: { 204: null },
      errors: [
        peopleProblems.ticket_invalid,
        peopleProblems.sign_in_again,
        peopleProblems.identity_for_another,
      ],
      run: async ({ signedIn, body, report }) => {
        await addIdentity({ ...options, tickets }, signedIn, body.identity_ticket)
        report({ event: 'identity_added', objectId: signedIn.personId })
      },
    }),
    route({
      id: 'removeIdentity',
      method: 'DELETE',
      path: '/person/identity',
      scope: 'person',
      tag: 'Person',
      summary: 'Disconnect the person from the provider',
      description:
        'The provider signs her in no longer. All other sessions of the person end. Who has no password gets one by a mail (`POST /password-reset`).',
      reply: { 204: null },
      errors: [peopleProblems.identity_not_found],
      run: async ({ signedIn, report }) => {
        await removeIdentity(options, signedIn)
        report({ event: 'identity_removed', objectId: signedIn.personId })
      },
    }),
  ]
}
