import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { shell } from '../routes.ts'

const page = createRoute({
  getParentRoute: () => shell,
  path: '/snapshots',
  component: lazyRouteComponent(() => import('./snapshots-page.tsx'), 'SnapshotsPage'),
})

export const snapshots = {
  routes: [page],
  places: [{ route: page, group: 'compute', title: { en: 'Snapshots', ru: 'Снимки' }, icon: 'snapshot' }],
  quotas: [{ name: 'snapshots', title: { en: 'Snapshots', ru: 'Снимки дисков' } }],
} as const satisfies Feature
