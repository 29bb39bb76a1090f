import { feature } from '../feature.ts'
import { forgetSnapshots } from './billing.ts'
import { imageRoutes } from './image-routes.ts'
import { type ImagesOptions, imageQuota } from './images.ts'
import { snapshotRoutes } from './routes.ts'
import { snapshotQuota } from './snapshots.ts'

const events = {
  'snapshot.created': 'servers:read',
  'snapshot.updated': 'servers:read',
  'snapshot.deleted': 'servers:read',
  'image.created': 'servers:read',
  'image.updated': 'servers:read',
  'image.deleted': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const snapshots = feature({
  tags: {
    Snapshots: "Copies of servers' disks, to restore them or to create servers from.",
    Images: 'Images of your own, to create servers from.',
  },
  routes: (parts: ImagesOptions) => [...snapshotRoutes(parts), ...imageRoutes(parts)],
  events,
  quotas: [snapshotQuota, imageQuota],
  cleaning: () => ({ old: { snapshots: { days: 30, delete: forgetSnapshots } } }),
})
