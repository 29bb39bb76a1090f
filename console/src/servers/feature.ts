import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { projectsQuery } from '../account/queries.ts'
import { queryClient } from '../client.ts'
import type { Feature } from '../feature.ts'
import { shell } from '../routes.ts'
import { isRange } from './metrics/queries.ts'
import { serversQuery, templatesQuery, zonesQuery } from './queries.ts'
import { filterOf, readServersSearch } from './search.ts'

const list = createRoute({
  getParentRoute: () => shell,
  path: '/servers',
  validateSearch: readServersSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => {
    void queryClient.prefetchQuery(zonesQuery)
    void queryClient.prefetchQuery(templatesQuery)
    void queryClient.prefetchQuery(projectsQuery)
    void queryClient.prefetchQuery(serversQuery(filterOf(deps)))
  },
  component: lazyRouteComponent(() => import('./servers-page.tsx'), 'ServersPage'),
})

const create = createRoute({
  getParentRoute: () => shell,
  path: '/servers/new',
  component: lazyRouteComponent(() => import('./create/create-page.tsx'), 'CreatePage'),
})

const server = createRoute({
  getParentRoute: () => shell,
  path: '/servers/$serverId',
  component: lazyRouteComponent(() => import('./details/server-page.tsx'), 'ServerPage'),
})

const tabs = [
  createRoute({
    getParentRoute: () => server,
    path: '/',
    component: lazyRouteComponent(() => import('./details/overview-tab.tsx'), 'OverviewTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/metrics',
    validateSearch: ({ range, from, to }: Record<string, unknown>) => ({
      ...(isRange(range) ? { range } : {}),
      ...(typeof from === 'number' && typeof to === 'number' ? { from, to } : {}),
    }),
    component: lazyRouteComponent(() => import('./metrics/metrics-tab.tsx'), 'MetricsTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/terminal',
    component: lazyRouteComponent(() => import('./terminal/terminal-tab.tsx'), 'TerminalTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/screen',
    component: lazyRouteComponent(() => import('./screen/screen-tab.tsx'), 'ScreenTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/network',
    component: lazyRouteComponent(() => import('./details/network-tab.tsx'), 'NetworkTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/backups',
    component: lazyRouteComponent(() => import('./copies/backups-tab.tsx'), 'BackupsTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/events',
    component: lazyRouteComponent(() => import('./details/events-tab.tsx'), 'EventsTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/settings',
    component: lazyRouteComponent(() => import('./details/settings-tab.tsx'), 'SettingsTab'),
  }),
] as const

export const servers = {
  routes: [list, create, server.addChildren(tabs)],
  places: [{ route: list, group: 'compute', title: { en: 'Servers', ru: 'Серверы' }, icon: 'server' }],
  quotas: [
    { name: 'servers', title: { en: 'Servers', ru: 'Серверы' } },
    { name: 'cpu', title: { en: 'Cores', ru: 'Ядра' } },
    { name: 'ram_mb', title: { en: 'Memory', ru: 'Память' } },
    { name: 'disk_gb', title: { en: 'Disk', ru: 'Диск' } },
    { name: 'ports', title: { en: 'Published ports', ru: 'Опубликованные порты' } },
  ],
  refreshedBy: { server: ['port', 'address', 'network', 'operation'] },
} as const satisfies Feature
