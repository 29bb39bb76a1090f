import { feature } from '../feature.ts'
import { backupRoutes } from './backup-routes.ts'
import { forgetSnapshots } from './billing.ts'
import { dropIdleUploads, fileQuota, UPLOAD_DAYS } from './image-files.ts'
import { imageRoutes } from './image-routes.ts'
import { type ImagesOptions, imageQuota } from './images.ts'
import { isoRoutes } from './iso-routes.ts'
import { isoQuota } from './isos.ts'
import { snapshotRoutes } from './routes.ts'
import { snapshotQuota } from './snapshots.ts'

const events = {
  'snapshot.created': 'servers:read',
  'snapshot.updated': 'servers:read',
  'snapshot.deleted': 'servers:read',
  'image.created': 'servers:read',
  'image.updated': 'servers:read',
  'image.deleted': 'servers:read',
  'iso.created': 'servers:read',
  'iso.updated': 'servers:read',
  'iso.deleted': 'servers:read',
  'backup.created': 'servers:read',
  'backup.verified': 'servers:read',
  'backup.failed': 'servers:read',
  'backup.boot_failed': 'servers:read',
  'backup.deleted': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const snapshots = feature({
  tags: {
    Snapshots: "Copies of servers' disks, to restore them or to create servers from.",
    Backups: 'Daily copies of the disks of servers whose backups are on.',
    Images: 'Images of your own, to create servers from.',
    ISOs: 'ISO images for the drives of servers: your own, and those that the operator offers.',
  },
  routes: (parts: ImagesOptions) => [
    ...snapshotRoutes(parts),
    ...backupRoutes(parts),
    ...imageRoutes(parts),
    ...isoRoutes(parts),
  ],
  events,
  quotas: [snapshotQuota, imageQuota, isoQuota, fileQuota],
  cleaning: () => ({
    old: {
      uploads: { days: UPLOAD_DAYS, delete: dropIdleUploads },
      snapshots: { days: 30, delete: forgetSnapshots },
    },
  }),
})
