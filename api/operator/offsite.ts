import Type, { type Static } from 'typebox'
import type { Queries } from '../database/database.ts'
import { isoTimeOrNull, nullable, timestamp } from '../http/contract/fields.ts'
import { type Route, route } from '../http/contract/route.ts'
import type { Offsite } from '../snapshots/offsite.ts'
import { countOffsite } from '../snapshots/offsite-rows.ts'

const Copies = Type.Object({
  total: Type.Integer({ description: 'How many', examples: [12] }),
  bytes: Type.Integer({ description: 'Their size in bytes', examples: [25769803776] }),
})

const OffsiteState = Type.Object(
  {
    place: nullable(Type.String({ examples: ['https://s3.example.com/berth'] }), {
      description: 'The bucket or folder that is set; null if none is, and nothing is copied',
    }),
    stored: { ...Copies, description: 'Snapshots, images and backups that are whole off site' },
    waiting: { ...Copies, description: 'Those that are not yet' },
    removing: { ...Copies, description: 'Deleted ones of which something is still there' },
    waiting_since: nullable(timestamp('When the oldest of `waiting` was begun', '2026-11-21T10:00:00.000Z'), {
      description: 'When the oldest of `waiting` was begun; null if none waits',
    }),
    fault: nullable(Type.String({ examples: ["https://s3.example.com/berth can't be reached"] }), {
      description: 'Why one of them could not be copied or removed; it is tried again. Null if there is none',
      examples: [null],
    }),
  },
  { title: 'OffsiteState', description: 'The copies off site of snapshots, images and backups' },
)

export function offsiteRoute({ db, offsite }: { db: Queries; offsite: Offsite }): Route {
  return route({
    id: 'getOffsiteState',
    method: 'GET',
    path: '/operator/offsite',
    scope: 'operator:read',
    tag: 'Operator',
    summary: 'Show how many snapshots, images and backups are copied off site',
    description:
      'Each is copied, encrypted, to the place that `BERTH_OFFSITE` names, as soon as it is available, and removed there when it is deleted. One that its host has lost is brought back when a server needs it.',
    reply: { 200: OffsiteState },
    run: async (): Promise<Static<typeof OffsiteState>> => {
      const states = new Map((await countOffsite(db)).map((row) => [row.state, row]))
      const copies = (state: string) => {
        const { total = 0, bytes = 0 } = states.get(state) ?? {}
        return { total, bytes }
      }
      const faults = [...states.values()].flatMap(({ fault }) => fault ?? [])
      return {
        place: offsite.place,
        ...{ stored: copies('stored'), waiting: copies('waiting'), removing: copies('removing') },
        waiting_since: isoTimeOrNull(states.get('waiting')?.oldest_created_at ?? null),
        fault: faults[0] ?? null,
      }
    },
  })
}
