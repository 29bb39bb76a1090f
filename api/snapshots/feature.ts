import { feature } from '../feature.ts'
import { forgetSnapshots } from './billing.ts'
import { snapshotRoutes } from './routes.ts'
import { snapshotQuota } from './snapshots.ts'

const events = {
  'snapshot.created': 'servers:read',
  'snapshot.updated': 'servers:read',
  'snapshot.deleted': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const snapshots = feature({
  tags: { Snapshots: "Copies of servers' disks, to restore them or to create servers from." },
  routes: snapshotRoutes,
  events,
  quotas: [snapshotQuota],
  cleaning: () => ({ old: { snapshots: { days: 30, delete: forgetSnapshots } } }),
})
