import { isBerthError } from '@berth/sdk'
import { createRootRoute, createRoute, redirect } from '@tanstack/react-router'
import { queryClient } from './client.ts'
import { sessionQuery } from './session.ts'

/** The parent of pages without the menu. */
export const root = createRootRoute()

/** The parent of all other pages: they need a user who is signed in. */
export const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: ({ location }) =>
    requireSignedIn(location.href, () => queryClient.ensureQueryData(sessionQuery)),
})

/** Sends users who are not signed in to the sign-in page, which leads them back. */
export async function requireSignedIn(href: string, ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask()
  } catch (error) {
    if (isBerthError(error) && error.status === 401)
      throw redirect({ to: '/sign-in', search: href === '/' ? {} : { next: href } })
    throw error
  }
}

/** The offset of a page of a list. */
export const readOffset = ({ offset }: Record<string, unknown>): { offset?: number } =>
  typeof offset === 'number' && offset > 0 ? { offset } : {}
