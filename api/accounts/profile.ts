import type { Database } from '../database/database.ts'
import type { Quota } from '../feature.ts'
import type { Actor } from '../http/contract/auth.ts'
import { type Route, route } from '../http/contract/route.ts'
import { limitsBy, readUse } from './quotas.ts'
import { accountSchema, type Me } from './schema.ts'
import { findToken } from './tokens.ts'
import { meView, quotasView } from './view.ts'

export interface ProfileOptions {
  db: Database
  /** The quotas of all features. */
  quotas: readonly Quota[]
  /** True if the installation has `/hcloud/v1` (default: false). */
  hasHcloud?: boolean | undefined
  /** The person who sends a request, as `Me` shows them; null with a token. */
  personOf: (db: Database, actor: Actor) => Promise<Me['person']>
}

export function profileRoute({ db, quotas, personOf, hasHcloud = false }: ProfileOptions): Route {
  return route({
    id: 'getAccount',
    method: 'GET',
    path: '/account/me',
    scope: 'account:read',
    tag: 'Account',
    summary: 'Get the account, its quotas, and the token or person in use',
    description:
      'Returns the account, the token or person of the request, their scopes, and how much of each quota is used. Use it to check that a token works.',
    reply: { 200: accountSchema(quotas) },
    run: async ({ actor }) => {
      const { accountId, tokenId, scopes } = actor
      const [{ account, used }, token, person] = await Promise.all([
        readUse(db, accountId, quotas),
        tokenId === null ? null : findToken(db, tokenId),
        personOf(db, actor),
      ])
      const shown = quotasView(limitsBy(account, quotas), used)
      return meView(account, { token, person, scopes, hasHcloud }, shown)
    },
  })
}
