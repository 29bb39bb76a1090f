import { feature } from '../feature.ts'
import { serverQuotas } from './accounts.ts'
import { projectQuota } from './projects.ts'
import { accountRoutes } from './routes.ts'
import { sshKeyQuota } from './ssh-keys.ts'
import { tokenQuota } from './tokens.ts'

export const accounts = feature({
  tags: { Account: 'Who you are: profile, balance, projects, SSH keys, tokens.' },
  routes: accountRoutes,
  quotas: [projectQuota, sshKeyQuota, tokenQuota, ...serverQuotas],
})
