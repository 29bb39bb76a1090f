import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { readOffset, shell } from '../routes.ts'
import {
  readAbuseSearch,
  readAccountsSearch,
  readComplaintsSearch,
  readDocumentsSearch,
  readOperatedServersSearch,
} from './queries.ts'

const accountsPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator',
  validateSearch: readAccountsSearch,
  component: lazyRouteComponent(() => import('./accounts-page.tsx'), 'AccountsPage'),
})

const serversPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/servers',
  validateSearch: readOperatedServersSearch,
  component: lazyRouteComponent(() => import('./servers-page.tsx'), 'OperatedServersPage'),
})

const catalogPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/catalog',
  component: lazyRouteComponent(() => import('./catalog-page.tsx'), 'CatalogPage'),
})

const operationsPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/operations',
  validateSearch: (search: Record<string, unknown>): { state?: 'active' | 'failed'; offset?: number } => ({
    ...readOffset(search),
    ...(search.state === 'failed' ? { state: 'failed' } : {}),
  }),
  component: lazyRouteComponent(() => import('./operations-page.tsx'), 'OperationsPage'),
})

const paymentsPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/payments',
  validateSearch: (search: Record<string, unknown>): { show?: 'all' | 'problems'; offset?: number } => ({
    ...readOffset(search),
    ...(search.show === 'problems' ? { show: 'problems' } : {}),
  }),
  component: lazyRouteComponent(() => import('./payments-page.tsx'), 'PaymentsPage'),
})

const capacityPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/capacity',
  component: lazyRouteComponent(() => import('./hosts-pages.tsx'), 'CapacityPage'),
})

const imagesPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/images',
  component: lazyRouteComponent(() => import('./hosts-pages.tsx'), 'ImagesPage'),
})

const announcementsPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/announcements',
  validateSearch: readOffset,
  component: lazyRouteComponent(() => import('./announcements-page.tsx'), 'AnnouncementsPage'),
})

const promoCodesPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/promo-codes',
  validateSearch: readOffset,
  component: lazyRouteComponent(() => import('./promo-page.tsx'), 'PromoCodesPage'),
})

const documentsPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/documents',
  validateSearch: readDocumentsSearch,
  component: lazyRouteComponent(() => import('./documents-page.tsx'), 'OperatedDocumentsPage'),
})

const abusePage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/abuse',
  validateSearch: readAbuseSearch,
  component: lazyRouteComponent(() => import('./abuse-page.tsx'), 'AbusePage'),
})

const complaintsPage = createRoute({
  getParentRoute: () => shell,
  path: '/operator/complaints',
  validateSearch: readComplaintsSearch,
  component: lazyRouteComponent(() => import('./complaints-page.tsx'), 'OperatedComplaintsPage'),
})

export const operator = {
  routes: [
    accountsPage,
    serversPage,
    abusePage,
    complaintsPage,
    paymentsPage,
    documentsPage,
    promoCodesPage,
    operationsPage,
    announcementsPage,
    catalogPage,
    capacityPage,
    imagesPage,
  ],
  places: [
    { route: accountsPage, group: 'operator', title: { en: 'Accounts', ru: 'Аккаунты' }, icon: 'people' },
    {
      route: serversPage,
      group: 'operator',
      title: { en: 'All servers', ru: 'Все серверы' },
      icon: 'server',
    },
    { route: abusePage, group: 'operator', title: { en: 'Abuse', ru: 'Злоупотребления' }, icon: 'shield' },
    { route: complaintsPage, group: 'operator', title: { en: 'Complaints', ru: 'Жалобы' }, icon: 'alert' },
    { route: paymentsPage, group: 'operator', title: { en: 'Payments', ru: 'Платежи' }, icon: 'billing' },
    {
      route: documentsPage,
      group: 'operator',
      title: { en: 'Documents', ru: 'Документы' },
      icon: 'book',
    },
    {
      route: promoCodesPage,
      group: 'operator',
      title: { en: 'Promo codes', ru: 'Промокоды' },
      icon: 'code',
    },
    {
      route: operationsPage,
      group: 'operator',
      title: { en: 'Operations', ru: 'Операции' },
      icon: 'restart',
    },
    {
      route: announcementsPage,
      group: 'operator',
      title: { en: 'Announcements', ru: 'Объявления' },
      icon: 'info',
    },
    { route: catalogPage, group: 'operator', title: { en: 'Catalogue', ru: 'Каталог' }, icon: 'image' },
    { route: capacityPage, group: 'operator', title: { en: 'Capacity', ru: 'Ресурсы' }, icon: 'overview' },
    { route: imagesPage, group: 'operator', title: { en: 'Images', ru: 'Образы' }, icon: 'folder' },
  ],
} as const satisfies Feature
