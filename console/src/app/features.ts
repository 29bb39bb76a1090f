import { account, activity, projects, sshKeys, tokens, webhooks } from '../account/feature.ts'
import { billing } from '../billing/feature.ts'
import { complaints } from '../complaints/feature.ts'
import type { Feature } from '../feature.ts'
import { addresses, firewalls, networks } from '../networks/feature.ts'
import { operator } from '../operator/feature.ts'
import { overview } from '../overview/feature.ts'
import { entry, members, security } from '../people/feature.ts'
import { servers } from '../servers/feature.ts'
import { snapshots } from '../snapshots/feature.ts'
import { volumes } from '../volumes/feature.ts'

/** The console: its routes, menu, limits and refreshed queries come from this list, in this order. */
export const features = [
  overview,
  servers,
  networks,
  firewalls,
  addresses,
  snapshots,
  volumes,
  projects,
  sshKeys,
  billing,
  account,
  complaints,
  members,
  tokens,
  webhooks,
  security,
  activity,
  operator,
  entry,
] as const satisfies readonly Feature[]
