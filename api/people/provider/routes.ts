import { type Route, route } from '../../http/contract/route.ts'
import { type Proof, proofErrors } from '../guard/proof.ts'
import { OwnProof } from '../guard/schema.ts'
import type { Tickets } from '../guard/tickets.ts'
import { peopleProblems } from '../person/schema.ts'
import { shown } from '../two-factor/routes.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'
import { addIdentity, type IdentityOptions, removeIdentity } from './identities.ts'
import { IdentityTicket } from './schema.ts'

/** Connecting a person with their identity at the provider, and disconnecting them. */
export function identityRoutes(
  options: IdentityOptions & { tickets: Tickets; proof: Proof; twoFactor: TwoFactor },
): Route[] {
  return [
    route({
      id: 'addIdentity',
      method: 'POST',
      path: '/person/identity',
      scope: 'person',
      tag: 'Person',
      summary: 'Connect the person to their identity at the provider',
      description:
        'Requires the `identity_ticket` of `POST /sign-in/provider`, from the person with that address, who must have signed in within the last 10 minutes. From then on they can sign in with the provider, even if their address there changes. An earlier connection is replaced.',
      body: IdentityTicket,
      reply: { 204: null },
      errors: [
        peopleProblems.ticket_invalid,
        peopleProblems.sign_in_again,
        peopleProblems.identity_for_another,
      ],
      run: async ({ signedIn, body, report }) => {
        await addIdentity(options, signedIn, body.identity_ticket)
        report({ event: 'identity_added', objectId: signedIn.personId })
      },
    }),
    route({
      id: 'removeIdentity',
      method: 'POST',
      path: '/person/identity/delete',
      scope: 'person',
      tag: 'Person',
      summary: 'Disconnect the person from the provider',
      description:
        'Requires the password, and a code if two-factor authentication is on; a person without a password must have signed in within the last 10 minutes. The person can no longer sign in with the provider, and all their other sessions end. Without a password, they set one by mail (`POST /password-reset`).',
      body: OwnProof,
      reply: { 204: null },
      errors: [...proofErrors, peopleProblems.wrong_code, peopleProblems.identity_not_found],
      run: async ({ signedIn, body, report }) => {
        await removeIdentity(options, signedIn, shown(body))
        report({ event: 'identity_removed', objectId: signedIn.personId })
      },
    }),
  ]
}
