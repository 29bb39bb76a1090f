import type { Account } from '@berth/sdk'
import { Command } from 'commander'
import { action } from './session.ts'
import { ifKnown, rub, untilIn } from './units.ts'

const used = (name: keyof Account['quotas']) => (account: Account) =>
  `${account.quotas[name].used} of ${account.quotas[name].limit}`

export function whoamiCommand(): Command {
  return new Command('whoami').description('show the account, its quotas and the token in use').action(
    action(async ({ berth, show }) => {
      await show(await berth.account.get(), {
        Account: ({ email }) => email,
        Status: ({ status, status_reason, status_since }) =>
          [status, status_since && `since ${status_since}`, status_reason]
            .filter((part) => part !== null)
            .join(', '),
        Token: ({ token }) => token?.name,
        Scopes: ({ scopes }) => scopes.join(', '),
        'Outgoing mail': ({ is_smtp_open }) => (is_smtp_open ? 'open' : 'closed'),
        Servers: used('servers'),
        CPU: used('cpu'),
        'RAM MB': used('ram_mb'),
        'Disk GB': used('disk_gb'),
        Projects: used('projects'),
        'SSH keys': used('ssh_keys'),
        Tokens: used('tokens'),
        Webhooks: used('webhooks'),
      })
    }),
  )
}

export function balanceCommand(): Command {
  return new Command('balance').description('show the balance and how long it lasts').action(
    action(async ({ berth, show }) => {
      const known = await berth.account.balance()
      const { top_up_to_resume_rub: missing, top_up_url: url } = known
      await show(known, {
        Balance: ({ balance, currency }) => `${balance} ${currency}`,
        'Cost per month': ({ cost_month_rub }) => rub(cost_month_rub),
        Lasts: ({ hours_left }) => ifKnown(hours_left, (hours) => untilIn(hours, new Date())),
        ...(missing === null ? {} : { 'Top up to resume': () => rub(missing) }),
        ...(url === null ? {} : { 'Top up at': () => url }),
      })
    }),
  )
}
