import type { AutoTopUp } from '@berth/sdk'
import { Command } from 'commander'
import { idOf } from './find.ts'
import type { Columns } from './output.ts'
import { paymentMethodKind } from './payment-method.ts'
import { action } from './session.ts'
import { rub } from './units.ts'

const parts: Columns<AutoTopUp> = {
  on: ({ is_on }) => is_on,
  below: ({ below_rub }) => below_rub && rub(below_rub),
  amount: ({ amount_rub }) => amount_rub && rub(amount_rub),
  monthly_limit: ({ monthly_limit_rub }) => monthly_limit_rub && rub(monthly_limit_rub),
  method: ({ payment_method_id }) => payment_method_id,
  charged_this_month: ({ charged_month_rub }) => rub(charged_month_rub),
  declines: ({ declines }) => declines,
  waits_until: ({ waits_until }) => waits_until,
  off_reason: ({ off_reason }) => off_reason,
}

interface SetOptions {
  below: string
  amount: string
  monthlyLimit: string
  method: string
}

export function autoTopUpCommand(): Command {
  return new Command('auto-top-up')
    .description('top up by a saved payment method when the balance is low')
    .addCommand(
      new Command('show')
        .description('show the settings, and what was charged this month')
        .action(action(async ({ berth, show }) => show(await berth.payments.autoTopUp(), parts))),
    )
    .addCommand(
      new Command('set')
        .description('turn it on, with these settings')
        .requiredOption('--below <rubles>', 'balance below which the account is topped up')
        .requiredOption('--amount <rubles>', 'amount of each payment')
        .requiredOption('--monthly-limit <rubles>', 'the most that is charged in a calendar month')
        .requiredOption('--method <payment-method>', 'saved payment method, by its last four digits or id')
        .action(
          action(async ({ berth, show }, { below, amount, monthlyLimit, method }: SetOptions) => {
            const payment_method_id = await idOf(berth, paymentMethodKind, method)
            const sums = { below_rub: below, amount_rub: amount, monthly_limit_rub: monthlyLimit }
            await show(await berth.payments.setAutoTopUp({ ...sums, payment_method_id }), parts)
          }),
        ),
    )
    .addCommand(
      new Command('delete').description('turn it off, and forget its settings').action(
        action(async ({ berth, note }) => {
          await berth.payments.deleteAutoTopUp()
          note('Automatic top-up is off.')
        }),
      ),
    )
}
