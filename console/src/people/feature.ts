import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { queryClient } from '../client.ts'
import type { Feature } from '../feature.ts'
import { requireSignedIn, root, shell } from '../routes.ts'
import { personQuery } from '../session.ts'

const membersPage = createRoute({
  getParentRoute: () => shell,
  path: '/account/members',
  component: lazyRouteComponent(() => import('./members-page.tsx'), 'MembersPage'),
})

export const members = {
  routes: [membersPage],
  places: [
    { route: membersPage, group: 'account', title: { en: 'Members', ru: 'Участники' }, icon: 'people' },
  ],
  quotas: [{ name: 'members', title: { en: 'Members', ru: 'Участники' } }],
} as const satisfies Feature

const securityPage = createRoute({
  getParentRoute: () => shell,
  path: '/account/security',
  component: lazyRouteComponent(() => import('./security-page.tsx'), 'SecurityPage'),
})

export const security = {
  routes: [securityPage],
  places: [
    { route: securityPage, group: 'account', title: { en: 'Security', ru: 'Безопасность' }, icon: 'lock' },
  ],
} as const satisfies Feature

const signInPage = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { next?: string } => {
    const { next } = search
    // Only a page of this console: an address of another host begins with two slashes.
    return typeof next === 'string' && /^\/(?![/\\])/.test(next) ? { next } : {}
  },
  component: lazyRouteComponent(() => import('./sign-in-page.tsx'), 'SignInPage'),
})

const providerPage = createRoute({
  getParentRoute: () => root,
  path: '/sign-in/provider',
  component: lazyRouteComponent(() => import('./provider-page.tsx'), 'ProviderPage'),
})

const signUpPage = createRoute({
  getParentRoute: () => root,
  path: '/sign-up',
  component: lazyRouteComponent(() => import('./sign-up-page.tsx'), 'SignUpPage'),
})

const resetPage = createRoute({
  getParentRoute: () => root,
  path: '/reset',
  component: lazyRouteComponent(() => import('./reset-page.tsx'), 'ResetPage'),
})

const emailPage = createRoute({
  getParentRoute: () => root,
  path: '/email',
  component: lazyRouteComponent(() => import('./email-page.tsx'), 'EmailPage'),
})

const invitationPage = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('./invitation-page.tsx'), 'InvitationPage'),
})

const devicePage = createRoute({
  getParentRoute: () => root,
  path: '/device',
  beforeLoad: ({ location }) =>
    requireSignedIn(location.href, () => queryClient.ensureQueryData(personQuery)),
  component: lazyRouteComponent(() => import('./device-page.tsx'), 'DevicePage'),
})

/** Signing in and up, and the pages that letters link to. */
export const entry = {
  routes: [],
  bareRoutes: [signInPage, providerPage, signUpPage, resetPage, emailPage, invitationPage, devicePage],
} as const satisfies Feature
