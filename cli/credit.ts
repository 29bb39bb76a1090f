import type { AccountCredit } from '@berth/sdk'
import { Command } from 'commander'
import { addLimitOption, type LimitOptions, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { action, listCommand } from './session.ts'
import { rub } from './units.ts'

const columns: Columns<AccountCredit> = {
  id: ({ credit_id }) => credit_id,
  source: ({ source }) => source,
  amount: ({ amount_rub }) => rub(amount_rub),
  left: ({ left_rub }) => rub(left_rub),
  expired: ({ expired_rub }) => rub(expired_rub),
  expires: ({ expires_at }) => expires_at,
  ended: ({ ended_at }) => ended_at,
  created: ({ created_at }) => created_at,
}

export function redeemCommand(): Command {
  return new Command('redeem')
    .description('redeem a promo code: its credit is in the balance at once, and ends')
    .argument('<code>', 'promo code')
    .action(action(async ({ berth, show }, code: string) => show(await berth.credits.redeem(code), columns)))
}

export function creditsCommand(): Command {
  return addLimitOption(
    listCommand({
      name: 'credits',
      description: 'list credit that ends, by promo codes and of the trial, newest first',
      columns,
      shown: ['source', 'amount', 'left', 'expires', 'ended'],
      items: async (session, options: LimitOptions) =>
        upTo(session, options, session.berth.credits.listAll()),
    }),
  )
}
