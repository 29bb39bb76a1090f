import { feature } from '../feature.ts'
import { type VolumeRoutesOptions, volumeRoutes } from './routes.ts'
import { forgetVolumes } from './store.ts'
import { volumeQuotas } from './volumes.ts'

const events = {
  'volume.created': 'servers:read',
  'volume.updated': 'servers:read',
  'volume.deleted': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const volumes = feature({
  tags: { Volumes: 'Disks that can be moved between servers.' },
  routes: (options: VolumeRoutesOptions) => volumeRoutes(options),
  events,
  quotas: volumeQuotas,
  cleaning: () => ({ old: { volumes: { days: 30, delete: forgetVolumes } } }),
})
