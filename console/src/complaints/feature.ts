import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { shell } from '../routes.ts'
import { readStatus } from './queries.ts'

const complaintsPage = createRoute({
  getParentRoute: () => shell,
  path: '/account/complaints',
  validateSearch: readStatus,
  component: lazyRouteComponent(() => import('./complaints-page.tsx'), 'ComplaintsPage'),
})

export const complaints = {
  routes: [complaintsPage],
  places: [
    { route: complaintsPage, group: 'account', title: { en: 'Complaints', ru: 'Жалобы' }, icon: 'alert' },
  ],
} as const satisfies Feature
