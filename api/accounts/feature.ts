import { feature } from '../feature.ts'
import { serverQuotas } from './accounts.ts'
import { projectQuota } from './projects.ts'
import { accountRoutes } from './routes.ts'
import { sshKeyQuota } from './ssh-keys.ts'
import { forgetExcessTokens, forgetTokens, tokenQuota } from './tokens.ts'

const events = {
  'account.updated': 'account:read',
  'project.created': 'account:read',
  'project.updated': 'account:read',
  'project.deleted': 'account:read',
  'ssh_key.created': 'account:read',
  'ssh_key.updated': 'account:read',
  'ssh_key.deleted': 'account:read',
  'token.created': 'account:read',
  'token.revoked': 'account:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const accounts = feature({
  tags: { Account: 'The account: profile, balance, projects, SSH keys, tokens.' },
  routes: accountRoutes,
  events,
  quotas: [projectQuota, sshKeyQuota, tokenQuota, ...serverQuotas],
  cleaning: () => ({
    old: { revokedTokens: { days: 30, delete: forgetTokens } },
    excess: { revokedTokens: { most: 1_000, delete: forgetExcessTokens } },
  }),
})
