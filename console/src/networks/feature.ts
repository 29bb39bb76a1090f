import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { shell } from '../routes.ts'

const networksPage = createRoute({
  getParentRoute: () => shell,
  path: '/networks',
  component: lazyRouteComponent(() => import('./networks-page.tsx'), 'NetworksPage'),
})

const networkPage = createRoute({
  getParentRoute: () => shell,
  path: '/networks/$networkId',
  component: lazyRouteComponent(() => import('./network-page.tsx'), 'NetworkPage'),
})

export const networks = {
  routes: [networksPage, networkPage],
  places: [{ route: networksPage, group: 'compute', title: { en: 'Networks', ru: 'Сети' }, icon: 'network' }],
  quotas: [{ name: 'networks', title: { en: 'Private networks', ru: 'Частные сети' } }],
  refreshedBy: { network: ['address'] },
} as const satisfies Feature

const firewallsPage = createRoute({
  getParentRoute: () => shell,
  path: '/firewalls',
  component: lazyRouteComponent(() => import('./firewalls-page.tsx'), 'FirewallsPage'),
})

const firewallPage = createRoute({
  getParentRoute: () => shell,
  path: '/firewalls/$firewallId',
  component: lazyRouteComponent(() => import('./firewall-page.tsx'), 'FirewallPage'),
})

export const firewalls = {
  routes: [firewallsPage, firewallPage],
  places: [
    { route: firewallsPage, group: 'compute', title: { en: 'Firewalls', ru: 'Файрволы' }, icon: 'shield' },
  ],
  quotas: [{ name: 'firewalls', title: { en: 'Firewalls', ru: 'Файрволы' } }],
} as const satisfies Feature

const addressesPage = createRoute({
  getParentRoute: () => shell,
  path: '/addresses',
  component: lazyRouteComponent(() => import('./addresses-page.tsx'), 'AddressesPage'),
})

export const addresses = {
  routes: [addressesPage],
  places: [
    { route: addressesPage, group: 'compute', title: { en: 'Addresses', ru: 'Адреса' }, icon: 'address' },
  ],
  quotas: [{ name: 'addresses', title: { en: 'Reserved addresses', ru: 'Адреса' } }],
} as const satisfies Feature
