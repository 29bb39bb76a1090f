import { sql } from 'kysely'
import type { Queries } from '../database/database.ts'

const NONE = sql<string | null>`CAST(NULL AS text)`

/** The servers of an account's firewalls: each by its id, or all with labels that a selector meets. */
export function firewallLinks(db: Queries, accountId: string) {
  const ofAccount = db.selectFrom('firewalls').where('firewalls.account_id', '=', accountId)
  const kind = sql<'firewall' | 'volume'>`'firewall'`.as('kind')
  return ofAccount
    .where('label_selector', 'is not', null)
    .select([kind, 'firewall_id as id', NONE.as('server_id'), 'label_selector as selector'])
    .unionAll(
      ofAccount
        .innerJoin('firewall_servers', 'firewall_servers.firewall_id', 'firewalls.firewall_id')
        .select([kind, 'firewalls.firewall_id as id'])
        .select((eb) => [eb.ref('firewall_servers.server_id').$castTo<string | null>().as('server_id')])
        .select(NONE.as('selector')),
    )
}
