import { isBerthError } from '@berth/sdk'
import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { projectsQuery } from '../account/queries.ts'
import { queryClient } from '../client.ts'
import { readAccountsSearch } from '../operator/queries.ts'
import { SignedIn } from '../people/signed-in.tsx'
import { isRange } from '../servers/metrics/queries.ts'
import { serversQuery, templatesQuery, zonesQuery } from '../servers/queries.ts'
import { filterOf, readServersSearch } from '../servers/search.ts'
import { personQuery, sessionQuery } from '../session.ts'
import { Page } from '../ui/page.tsx'
import { Failed } from '../ui/states.tsx'
import { useAppText } from './text.ts'

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: Broken })

function NotFound() {
  const t = useAppText()
  return (
    <Page title={t.notFound} about={t.notFoundAbout}>
      <Link to="/" className="button">
        {t.overview}
      </Link>
    </Page>
  )
}

function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <main className="main">
      <Failed error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} />
      {isBerthError(error) && error.code === 'no_account' ? <SignedIn /> : null}
    </main>
  )
}

/** Others sign in first, and come back. */
async function requireSignedIn(href: string, ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask()
  } catch (error) {
    if (isBerthError(error) && error.status === 401)
      throw redirect({ to: '/sign-in', search: href === '/' ? {} : { next: href } })
    throw error
  }
}

/** Everything that needs somebody to be signed in. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: ({ location }) =>
    requireSignedIn(location.href, () => queryClient.ensureQueryData(sessionQuery)),
  component: lazyRouteComponent(() => import('./shell.tsx'), 'Shell'),
})

const offsetOf = ({ offset }: Record<string, unknown>): { offset?: number } =>
  typeof offset === 'number' && offset > 0 ? { offset } : {}

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: lazyRouteComponent(() => import('../overview/overview-page.tsx'), 'OverviewPage'),
})

const servers = createRoute({
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
  component: lazyRouteComponent(() => import('../servers/servers-page.tsx'), 'ServersPage'),
})

const create = createRoute({
  getParentRoute: () => shell,
  path: '/servers/new',
  component: lazyRouteComponent(() => import('../servers/create/create-page.tsx'), 'CreatePage'),
})

const server = createRoute({
  getParentRoute: () => shell,
  path: '/servers/$serverId',
  component: lazyRouteComponent(() => import('../servers/details/server-page.tsx'), 'ServerPage'),
})

const tabs = [
  createRoute({
    getParentRoute: () => server,
    path: '/',
    component: lazyRouteComponent(() => import('../servers/details/overview-tab.tsx'), 'OverviewTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/metrics',
    validateSearch: ({ range, from, to }: Record<string, unknown>) => ({
      ...(isRange(range) ? { range } : {}),
      ...(typeof from === 'number' && typeof to === 'number' ? { from, to } : {}),
    }),
    component: lazyRouteComponent(() => import('../servers/metrics/metrics-tab.tsx'), 'MetricsTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/terminal',
    component: lazyRouteComponent(() => import('../servers/terminal/terminal-tab.tsx'), 'TerminalTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/network',
    component: lazyRouteComponent(() => import('../servers/details/network-tab.tsx'), 'NetworkTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/events',
    component: lazyRouteComponent(() => import('../servers/details/events-tab.tsx'), 'EventsTab'),
  }),
  createRoute({
    getParentRoute: () => server,
    path: '/settings',
    component: lazyRouteComponent(() => import('../servers/details/settings-tab.tsx'), 'SettingsTab'),
  }),
] as const

const networks = [
  createRoute({
    getParentRoute: () => shell,
    path: '/networks',
    component: lazyRouteComponent(() => import('../networks/networks-page.tsx'), 'NetworksPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/networks/$networkId',
    component: lazyRouteComponent(() => import('../networks/network-page.tsx'), 'NetworkPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/firewalls',
    component: lazyRouteComponent(() => import('../networks/firewalls-page.tsx'), 'FirewallsPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/firewalls/$firewallId',
    component: lazyRouteComponent(() => import('../networks/firewall-page.tsx'), 'FirewallPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/addresses',
    component: lazyRouteComponent(() => import('../networks/addresses-page.tsx'), 'AddressesPage'),
  }),
] as const

const account = [
  createRoute({
    getParentRoute: () => shell,
    path: '/account/members',
    component: lazyRouteComponent(() => import('../people/members-page.tsx'), 'MembersPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/projects',
    component: lazyRouteComponent(() => import('../account/projects-page.tsx'), 'ProjectsPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/ssh-keys',
    component: lazyRouteComponent(() => import('../account/ssh-keys-page.tsx'), 'SshKeysPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/billing',
    component: lazyRouteComponent(() => import('../billing/billing-page.tsx'), 'BillingPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/account',
    component: lazyRouteComponent(() => import('../account/account-page.tsx'), 'AccountPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/account/security',
    component: lazyRouteComponent(() => import('../people/security-page.tsx'), 'SecurityPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/account/tokens',
    component: lazyRouteComponent(() => import('../account/tokens-page.tsx'), 'TokensPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/account/webhooks',
    component: lazyRouteComponent(() => import('../account/webhooks-page.tsx'), 'WebhooksPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/account/activity',
    validateSearch: offsetOf,
    component: lazyRouteComponent(() => import('../account/activity-page.tsx'), 'ActivityPage'),
  }),
] as const

const operator = [
  createRoute({
    getParentRoute: () => shell,
    path: '/operator',
    validateSearch: readAccountsSearch,
    component: lazyRouteComponent(() => import('../operator/accounts-page.tsx'), 'AccountsPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/operator/operations',
    validateSearch: (search: Record<string, unknown>): { state?: 'active' | 'failed'; offset?: number } => ({
      ...offsetOf(search),
      ...(search.state === 'failed' ? { state: 'failed' } : {}),
    }),
    component: lazyRouteComponent(() => import('../operator/operations-page.tsx'), 'OperationsPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/operator/capacity',
    component: lazyRouteComponent(() => import('../operator/hosts-pages.tsx'), 'CapacityPage'),
  }),
  createRoute({
    getParentRoute: () => shell,
    path: '/operator/images',
    component: lazyRouteComponent(() => import('../operator/hosts-pages.tsx'), 'ImagesPage'),
  }),
] as const

/** A wrong address, with the menu that leads to a right one. */
const nowhere = createRoute({ getParentRoute: () => shell, path: '$', component: NotFound })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { next?: string } => {
    const { next } = search
    // A page of this console and nothing else: an address of another host begins with two slashes.
    return typeof next === 'string' && /^\/(?![/\\])/.test(next) ? { next } : {}
  },
  component: lazyRouteComponent(() => import('../people/sign-in-page.tsx'), 'SignInPage'),
})

const provider = createRoute({
  getParentRoute: () => root,
  path: '/sign-in/provider',
  component: lazyRouteComponent(() => import('../people/provider-page.tsx'), 'ProviderPage'),
})

const signUp = createRoute({
  getParentRoute: () => root,
  path: '/sign-up',
  component: lazyRouteComponent(() => import('../people/sign-up-page.tsx'), 'SignUpPage'),
})

const reset = createRoute({
  getParentRoute: () => root,
  path: '/reset',
  component: lazyRouteComponent(() => import('../people/reset-page.tsx'), 'ResetPage'),
})

const email = createRoute({
  getParentRoute: () => root,
  path: '/email',
  component: lazyRouteComponent(() => import('../people/email-page.tsx'), 'EmailPage'),
})

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('../people/invitation-page.tsx'), 'InvitationPage'),
})

const device = createRoute({
  getParentRoute: () => root,
  path: '/device',
  beforeLoad: ({ location }) =>
    requireSignedIn(location.href, () => queryClient.ensureQueryData(personQuery)),
  component: lazyRouteComponent(() => import('../people/device-page.tsx'), 'DevicePage'),
})

const tree = root.addChildren([
  signIn,
  provider,
  signUp,
  reset,
  email,
  invitation,
  device,
  shell.addChildren([
    overview,
    servers,
    create,
    server.addChildren(tabs),
    ...networks,
    ...account,
    ...operator,
    nowhere,
  ]),
])

export const router = createRouter({
  routeTree: tree,
  defaultPreload: 'intent',
  defaultErrorComponent: Broken,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
