import { abuse } from './abuse/feature.ts'
import { accounts } from './accounts/feature.ts'
import { addresses } from './addresses/feature.ts'
import { announcements } from './announcements/feature.ts'
import { billing } from './billing/feature.ts'
import { catalog } from './catalog/feature.ts'
import { consoles } from './consoles/feature.ts'
import { credits } from './credits/feature.ts'
import { events } from './events/feature.ts'
import type { EventScopes } from './events/types.ts'
import { type Cleaning, feature } from './feature.ts'
import { firewalls } from './firewalls/feature.ts'
import { hcloud } from './hcloud/feature.ts'
import { forgetExcessKeys, forgetKeys } from './http/server/idempotency.ts'
import { monitoring } from './monitoring/feature.ts'
import { networks } from './networks/feature.ts'
import { operations } from './operations/feature.ts'
import { operator } from './operator/feature.ts'
import { payments } from './payments/feature.ts'
import { people } from './people/feature.ts'
import { ports } from './ports/feature.ts'
import { servers } from './servers/feature.ts'
import { snapshots } from './snapshots/feature.ts'
import { transfers } from './transfers/feature.ts'
import { volumes } from './volumes/feature.ts'
import { webhooks } from './webhooks/feature.ts'

const idempotency = feature({
  cleaning: () => ({
    old: { idempotencyKeys: { days: 0, delete: forgetKeys } },
    excess: { idempotencyKeys: { most: 5_000, delete: forgetExcessKeys } },
  }),
})

/** All features, in the order of the API's description. A new one is a line here; the rest is derived. */
export const features = [
  people,
  accounts,
  billing,
  payments,
  credits,
  transfers,
  monitoring,
  catalog,
  events,
  webhooks,
  servers,
  consoles,
  ports,
  addresses,
  networks,
  volumes,
  firewalls,
  snapshots,
  operations,
  operator,
  abuse,
  announcements,
  hcloud,
  idempotency,
]

/** Every type of event, and the scope required to see it. */
export const eventScopes: EventScopes = Object.assign({}, ...features.map(({ events }) => events))

export const quotas = features.flatMap((feature) => feature.quotas)

/**
 * Groups of routes with their descriptions, for the API's description. Programs have no use for the routes of people
 * and operators, so these come last.
 */
export const tags: Readonly<Record<string, string>> = Object.assign(
  {},
  ...[servers, catalog].map(({ tags }) => tags),
  ...features.filter(({ tags }) => tags !== people.tags && tags !== operator.tags).map(({ tags }) => tags),
  people.tags,
  operator.tags,
)

/** The cleaning of all features. Rows of a feature are deleted before those of the features above it in the list. */
export const cleaning = (): Cleaning[] => features.map((feature) => feature.cleaning()).reverse()
