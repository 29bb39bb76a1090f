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
} as const satisfies Feature
