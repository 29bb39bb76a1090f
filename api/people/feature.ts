import { feature } from '../feature.ts'
import { memberQuota } from './membership/members.ts'
import { peopleRoutes } from './routes.ts'

export const people = feature({
  tags: {
    'Sign-in': 'How people sign up and in, with a browser.',
    Person: 'Who is signed in: name, password, sessions.',
    Members: 'Who is in an account, and who is invited.',
  },
  routes: peopleRoutes,
  quotas: [memberQuota],
})
