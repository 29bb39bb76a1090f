import type { IncusClient } from './client.ts'
import type { Members } from './members.ts'
import type { Operations } from './operations.ts'
import type { IncusZone } from './zone.ts'

/** The parts of a zone's driver that its snapshots, exports and volumes share. */
export interface Parts {
  client: IncusClient
  operations: Operations
  members: Members
  zone: IncusZone
}
