import { queryOptions } from '@tanstack/react-query'
import { berth } from '../client.ts'

export const signInOptionsQuery = queryOptions({
  queryKey: ['sign-in', 'options'],
  queryFn: ({ signal }) => berth.signIn.options({ signal }),
})

export const sessionsQuery = queryOptions({
  queryKey: ['session', 'list'],
  queryFn: ({ signal }) => berth.sessions.list({ limit: 200 }, { signal }),
})

export const membersQuery = queryOptions({
  queryKey: ['member', 'list'],
  queryFn: ({ signal }) => berth.members.list({ limit: 200 }, { signal }),
})

export const invitationsQuery = queryOptions({
  queryKey: ['invitation', 'list'],
  queryFn: ({ signal }) => berth.invitations.list({ limit: 200 }, { signal }),
})

export const passkeysQuery = queryOptions({
  queryKey: ['session', 'passkeys'],
  queryFn: ({ signal }) => berth.passkeys.list({}, { signal }),
})

/** The secret after the # of an e-mail's link, removed from the address so that no history keeps it. */
export function takeSecret(): string {
  const secret = location.hash.slice(1)
  if (secret !== '') history.replaceState(null, '', location.pathname)
  return secret
}
