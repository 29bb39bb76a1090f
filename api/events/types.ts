import { holds, type Scope } from '../http/contract/auth.ts'
import type { EventTable } from './tables.ts'

/** The types of events. Each feature adds its own in its feature.ts (TypeScript's module augmentation). */
// biome-ignore lint/suspicious/noEmptyInterface: the features fill it
export interface EventTypes {}
export type EventType = keyof EventTypes

/** The scope required to see each type of event. */
export type EventScopes = Readonly<Record<EventType, Scope>>

export function eventTypesOf(scopes: EventScopes): EventType[] {
  return Object.keys(scopes) as EventType[] // a table of constants has no other keys
}

/** The id before all events, at which readers without a cursor begin. It is never deleted. */
export const BEGINNING = '00000000-0000-0000-0000-000000000000'

/** An event that has its position. */
export type NumberedEvent = EventTable & { position: number; type: EventType }

/** The types that a token may see. */
export function visibleTo(actor: { scopes: readonly string[] }, scopes: EventScopes): EventType[] {
  return eventTypesOf(scopes).filter((type) => holds(actor, scopes[type]))
}
