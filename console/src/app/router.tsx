import { isBerthError } from '@berth/sdk'
import {
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  lazyRouteComponent,
} from '@tanstack/react-router'
import { SignedIn } from '../people/signed-in.tsx'
import { root, shell } from '../routes.ts'
import { Page } from '../ui/page.tsx'
import { Failed } from '../ui/states.tsx'
import { features } from './features.ts'
import { useAppText } from './text.ts'

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
      {isBerthError(error) && ['no_account', 'account_frozen'].includes(error.code) ? <SignedIn /> : null}
    </main>
  )
}

/** The page for a wrong address, with the menu. */
const nowhere = createRoute({ getParentRoute: () => shell, path: '$', component: NotFound })

shell.update({ component: lazyRouteComponent(() => import('./shell.tsx'), 'Shell') })

const tree = root.addChildren([
  shell.addChildren([nowhere, ...features.flatMap((feature) => [...feature.routes])]),
  ...features.flatMap((feature) => ('bareRoutes' in feature ? [...feature.bareRoutes] : [])),
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
