import { holds, type Scope } from '../http/contract/auth.ts'
import type { EventTable } from './tables.ts'

/** Every type of event, and the scope required to see it. */
export const eventTypes = {
  'server.created': 'servers:read',
  'server.updated': 'servers:read',
  'server.status_changed': 'servers:read',
  'server.deleted': 'servers:read',
  'server.console_opened': 'servers:read',
  'port.created': 'servers:read',
  'port.deleted': 'servers:read',
  'address.created': 'servers:read',
  'address.updated': 'servers:read',
  'address.deleted': 'servers:read',
  'network.created': 'servers:read',
  'network.updated': 'servers:read',
  'network.deleted': 'servers:read',
  'firewall.created': 'servers:read',
  'firewall.updated': 'servers:read',
  'firewall.deleted': 'servers:read',
  'operation.succeeded': 'servers:read',
  'operation.failed': 'servers:read',
  'account.updated': 'account:read',
  'balance.low': 'account:read',
  'balance.depleted': 'account:read',
  'balance.topped_up': 'account:read',
  'project.created': 'account:read',
  'project.updated': 'account:read',
  'project.deleted': 'account:read',
  'ssh_key.created': 'account:read',
  'ssh_key.updated': 'account:read',
  'ssh_key.deleted': 'account:read',
  'token.created': 'account:read',
  'token.revoked': 'account:read',
  'member.created': 'account:read',
  'member.updated': 'account:read',
  'member.deleted': 'account:read',
  'invitation.created': 'account:read',
  'invitation.deleted': 'account:read',
  'webhook.created': 'account:read',
  'webhook.updated': 'account:read',
  'webhook.deleted': 'account:read',
  'webhook.disabled': 'account:read',
  'webhook.test': 'account:read',
} as const satisfies Record<string, Scope>

export type EventType = keyof typeof eventTypes
export const eventTypeNames = Object.keys(eventTypes) as EventType[] // the keys of a constant table

/** Stands for the event before all others: where readers begin who have seen none. It is never forgotten. */
export const BEGINNING = '00000000-0000-0000-0000-000000000000'

/** An event that has its position. */
export type NumberedEvent = EventTable & { position: number; type: EventType }

/** The types that a token may see. */
export function visibleTo(actor: { scopes: readonly string[] }): EventType[] {
  return eventTypeNames.filter((type) => holds(actor, eventTypes[type]))
}
