import { type Route, route } from '../../http/contract/route.ts'
import type { Tickets } from '../guard/tickets.ts'
import { peopleProblems } from '../person/schema.ts'
import { noProvider } from '../provider/identities.ts'
import type { Provider } from '../provider/provider.ts'
import type { SignInOptions } from './admission.ts'
import { letIn } from './entry.ts'
import { ProviderAnswer, ProviderBeginning, ProviderSignIn } from './provider-schema.ts'
import type { SignIns } from './sign-in.ts'

interface Parts {
  provider: Provider | null
  tickets: Tickets
  signIns: SignIns
}

/** Signing in with an OpenID Connect provider. */
export function providerSignInRoutes(options: SignInOptions, { provider, tickets, signIns }: Parts): Route[] {
  return [
    route({
      id: 'beginProviderSignIn',
      method: 'POST',
      path: '/sign-in/provider/begin',
      scope: 'anybody',
      tag: 'Sign-in',
      summary: 'Begin to sign in with the provider: get the page to open',
      description:
        'Open `url` in the browser, and keep the `ticket` where only pages of this origin can read it: the provider leads back to `/sign-in/provider` of the console, within 10 minutes. Its response is accepted only together with the ticket.',
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
      summary: 'Complete a sign-in with the response of the provider',
      description:
        'Sets the session cookie, or returns a `ticket` if the second factor is missing. A new person is signed up, if sign-up is open. If the address has signed up already, the reply has an `identity_ticket` instead: sign in as usual once, and connect the identity with it.',
      body: ProviderAnswer,
      reply: { 200: ProviderSignIn },
      errors: [
        peopleProblems.no_provider,
        peopleProblems.ticket_invalid,
        peopleProblems.provider_refused,
        peopleProblems.email_unverified,
        peopleProblems.sign_up_closed,
        peopleProblems.terms_not_accepted,
      ],
      run: async (call) => {
        const entry = await signIns.useProvider({ language: 'en', ...call.body }, call.visit)
        if ('identityTicket' in entry)
          return { is_signed_in: false, person: null, ticket: null, identity_ticket: entry.identityTicket }
        return { ...(await letIn(options, entry, call)), identity_ticket: null }
      },
    }),
  ]
}
