import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { shell } from '../routes.ts'

const page = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: lazyRouteComponent(() => import('./overview-page.tsx'), 'OverviewPage'),
})

export const overview = {
  routes: [page],
  places: [{ route: page, group: 'top', title: { en: 'Overview', ru: 'Обзор' }, icon: 'overview' }],
} as const satisfies Feature
