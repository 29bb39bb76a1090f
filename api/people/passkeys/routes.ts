import Type from 'typebox'
import { listOf, paged, pagingQuery } from '../../http/contract/paging.ts'
import { type Route, route } from '../../http/contract/route.ts'
import { proofErrors } from '../guard/proof.ts'
import { OwnProof } from '../guard/schema.ts'
import { peopleProblems } from '../person/schema.ts'
import { shown } from '../two-factor/routes.ts'
import type { Passkeys } from './passkeys.ts'
import { Passkey, PasskeyCreate, PasskeySetUp, PasskeyUpdate } from './schema.ts'
import { passkeyView } from './view.ts'

const tag = 'Person'
const path = '/person/passkeys/:passkey_id'
const params = { passkey_id: peopleProblems.passkey_not_found }

/** Routes for people's own passkeys. */
export function passkeyRoutes(passkeys: Passkeys): Route[] {
  return [...makeRoutes(passkeys), ...keepRoutes(passkeys)]
}

function makeRoutes(passkeys: Passkeys): Route[] {
  return [
    route({
      id: 'beginPasskey',
      method: 'POST',
      path: '/person/passkey-challenge',
      scope: 'person',
      tag,
      summary: 'Begin to add a passkey: get the options for the browser',
      description:
        'Requires the password again, and a code if two-factor authentication is on; a person without a password must have signed in within the last 10 minutes. The browser must create the key within 10 minutes, for the host `relying_party`.',
      body: OwnProof,
      reply: { 200: PasskeySetUp },
      errors: [...proofErrors, peopleProblems.wrong_code, peopleProblems.passkeys_unavailable],
      run: ({ signedIn, body }) => passkeys.begin(signedIn, shown(body)),
    }),
    route({
      id: 'createPasskey',
      method: 'POST',
      path: '/person/passkeys',
      scope: 'person',
      tag,
      summary: 'Add a passkey that the browser has created',
      description:
        'The passkey counts as both factors, since it requires the device and a way to unlock it. A person can have at most 10.',
      body: PasskeyCreate,
      reply: { 201: Passkey },
      errors: [
        peopleProblems.ticket_invalid,
        peopleProblems.passkey_refused,
        peopleProblems.passkey_limit_reached,
      ],
      run: async ({ signedIn, body, report }) => {
        const row = await passkeys.create(signedIn, body)
        report({ event: 'passkey_added', objectId: row.passkey_id })
        return passkeyView(row)
      },
    }),
  ]
}

function keepRoutes(passkeys: Passkeys): Route[] {
  return [
    route({
      id: 'listPasskeys',
      method: 'GET',
      path: '/person/passkeys',
      scope: 'person',
      tag,
      summary: 'List the passkeys of the person',
      description: 'The keys that sign the person in, newest first, with their last use. At most 10.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Passkey) },
      run: (call) => paged(call, (page) => passkeys.list(call.signedIn.personId, page), passkeyView),
    }),
    route({
      id: 'updatePasskey',
      method: 'PATCH',
      path,
      scope: 'person',
      tag,
      summary: 'Rename a passkey',
      description: 'The name is for the person alone. The device that holds the key keeps its own.',
      params,
      body: PasskeyUpdate,
      reply: { 200: Passkey },
      run: async ({ signedIn, params, body }) =>
        passkeyView(await passkeys.rename(signedIn.personId, params.passkey_id, body.name)),
    }),
    route({
      id: 'deletePasskey',
      method: 'POST',
      path: `${path}/delete`,
      scope: 'person',
      tag,
      summary: 'Remove a passkey',
      description:
        'Requires the password, and a code if two-factor authentication is on. The passkey can no longer sign in. All other sessions of the person end, as the device may be lost.',
      params,
      body: OwnProof,
      reply: { 204: null },
      errors: [...proofErrors, peopleProblems.wrong_code],
      run: async ({ signedIn, params, body, report }) => {
        await passkeys.remove(signedIn, params.passkey_id, shown(body))
        report({ event: 'passkey_removed', objectId: params.passkey_id })
      },
    }),
  ]
}
