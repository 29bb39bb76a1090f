import type { Database, Queries } from '../database/database.ts'
import type { Actor } from '../http/contract/auth.ts'
import { type Route, route } from '../http/contract/route.ts'
import { findAccount } from './accounts.ts'
import { countProjects } from './projects.ts'
import { quotasOf } from './quotas.ts'
import { Me } from './schema.ts'
import { countSshKeys } from './ssh-keys.ts'
import { countTokens, findToken } from './tokens.ts'
import { type Counted, meView } from './view.ts'

/** How many an account has of what other features keep. */
export type ProfileCounts = Record<Counted, (db: Queries, accountId: string) => Promise<number>>

/** What is shown of the person who asks, if it is one. */
export type PersonOf = (actor: Actor) => Promise<Me['person']>

export function profileRoute(db: Database, counts: ProfileCounts, person: PersonOf): Route {
  return route({
    id: 'getAccount',
    method: 'GET',
    path: '/account/me',
    scope: 'account:read',
    tag: 'Account',
    summary: 'Get the account, its quotas, and the token or person in use',
    description:
      'Shows whose account it is, who is asking and with which rights, and how much of each quota is used. Use it to check a token before anything else.',
    reply: { 200: Me },
    run: async ({ actor }) => {
      const account = await findAccount(db, actor.accountId)
      const [
        limits,
        token,
        projects,
        ssh_keys,
        tokens,
        webhooks,
        ports,
        addresses,
        networks,
        firewalls,
        members,
      ] = await Promise.all([
        quotasOf(db, account),
        actor.tokenId === null ? null : findToken(db, actor.tokenId),
        countProjects(db, actor.accountId),
        countSshKeys(db, actor.accountId),
        countTokens(db, actor.accountId),
        counts.webhooks(db, actor.accountId),
        counts.ports(db, actor.accountId),
        counts.addresses(db, actor.accountId),
        counts.networks(db, actor.accountId),
        counts.firewalls(db, actor.accountId),
        counts.members(db, actor.accountId),
      ])
      const used = { projects, ssh_keys, tokens, webhooks, ports, addresses, networks, firewalls, members }
      const { scopes } = actor
      return meView(account, { token, person: await person(actor), scopes }, limits, used)
    },
  })
}
