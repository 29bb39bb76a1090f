import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { shell } from '../routes.ts'

const page = createRoute({
  getParentRoute: () => shell,
  path: '/volumes',
  component: lazyRouteComponent(() => import('./volumes-page.tsx'), 'VolumesPage'),
})

export const volumes = {
  routes: [page],
  places: [{ route: page, group: 'compute', title: { en: 'Volumes', ru: 'Тома' }, icon: 'volume' }],
  quotas: [
    { name: 'volumes', title: { en: 'Volumes', ru: 'Тома' } },
    { name: 'volumes_gb', title: { en: 'Volumes, GB', ru: 'Тома, ГБ' } },
  ],
} as const satisfies Feature
