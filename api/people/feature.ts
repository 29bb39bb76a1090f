import { feature } from '../feature.ts'
import { expired } from './expired.ts'
import { memberQuota } from './membership/members.ts'
import { forgetSessions } from './person/sessions.ts'
import { peopleRoutes } from './routes.ts'

const events = {
  'member.created': 'account:read',
  'member.updated': 'account:read',
  'member.deleted': 'account:read',
  'invitation.created': 'account:read',
  'invitation.deleted': 'account:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const people = feature({
  tags: {
    'Sign-in': 'Sign-up and sign-in in a browser.',
    Person: 'The person who is signed in: name, password, sessions.',
    Members: 'Members of an account, and invitations.',
  },
  routes: peopleRoutes,
  events,
  quotas: [memberQuota],
  cleaning: () => ({ old: { ...expired, sessions: { days: 0, delete: forgetSessions } } }),
})
