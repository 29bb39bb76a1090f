import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { readOffset, shell } from '../routes.ts'

const projectsPage = createRoute({
  getParentRoute: () => shell,
  path: '/projects',
  component: lazyRouteComponent(() => import('./projects-page.tsx'), 'ProjectsPage'),
})

export const projects = {
  routes: [projectsPage],
  places: [
    { route: projectsPage, group: 'compute', title: { en: 'Projects', ru: 'Проекты' }, icon: 'folder' },
  ],
  quotas: [{ name: 'projects', title: { en: 'Projects', ru: 'Проекты' } }],
  refreshedBy: { project: ['server'] },
} as const satisfies Feature

const sshKeysPage = createRoute({
  getParentRoute: () => shell,
  path: '/ssh-keys',
  component: lazyRouteComponent(() => import('./ssh-keys-page.tsx'), 'SshKeysPage'),
})

export const sshKeys = {
  routes: [sshKeysPage],
  places: [{ route: sshKeysPage, group: 'compute', title: { en: 'SSH keys', ru: 'SSH-ключи' }, icon: 'key' }],
  quotas: [{ name: 'ssh_keys', title: { en: 'SSH keys', ru: 'SSH-ключи' } }],
} as const satisfies Feature

const accountPage = createRoute({
  getParentRoute: () => shell,
  path: '/account',
  component: lazyRouteComponent(() => import('./account-page.tsx'), 'AccountPage'),
})

export const account = {
  routes: [accountPage],
  places: [{ route: accountPage, group: 'account', title: { en: 'Account', ru: 'Аккаунт' }, icon: 'person' }],
  refreshedBy: { session: ['account', 'token', 'member'] },
} as const satisfies Feature

const tokensPage = createRoute({
  getParentRoute: () => shell,
  path: '/account/tokens',
  component: lazyRouteComponent(() => import('./tokens-page.tsx'), 'TokensPage'),
})

export const tokens = {
  routes: [tokensPage],
  places: [
    { route: tokensPage, group: 'account', title: { en: 'API tokens', ru: 'Токены API' }, icon: 'token' },
  ],
  quotas: [{ name: 'tokens', title: { en: 'API tokens', ru: 'Токены API' } }],
} as const satisfies Feature

const webhooksPage = createRoute({
  getParentRoute: () => shell,
  path: '/account/webhooks',
  component: lazyRouteComponent(() => import('./webhooks-page.tsx'), 'WebhooksPage'),
})

export const webhooks = {
  routes: [webhooksPage],
  places: [
    { route: webhooksPage, group: 'account', title: { en: 'Webhooks', ru: 'Вебхуки' }, icon: 'webhook' },
  ],
  quotas: [{ name: 'webhooks', title: { en: 'Webhooks', ru: 'Вебхуки' } }],
} as const satisfies Feature

const activityPage = createRoute({
  getParentRoute: () => shell,
  path: '/account/activity',
  validateSearch: readOffset,
  component: lazyRouteComponent(() => import('./activity-page.tsx'), 'ActivityPage'),
})

export const activity = {
  routes: [activityPage],
  places: [{ route: activityPage, group: 'account', title: { en: 'Activity', ru: 'Журнал' }, icon: 'clock' }],
  refreshedBy: { event: ['operation'] },
} as const satisfies Feature
