import type { PaymentMethod } from '@berth/sdk'
import { Command } from 'commander'
import { deleteCommand } from './delete.ts'
import { kind } from './find.ts'
import type { Columns } from './output.ts'
import { listCommand } from './session.ts'

/** Cards are named by their last four digits. */
export const paymentMethodKind = kind({
  noun: 'payment-method',
  all: (berth) => berth.payments.allMethods(),
  id: ({ payment_method_id }) => payment_method_id,
  name: ({ last_four, brand }) => last_four ?? brand,
})

const columns: Columns<PaymentMethod> = {
  id: ({ payment_method_id }) => payment_method_id,
  provider: ({ provider }) => provider,
  brand: ({ brand }) => brand,
  last_four: ({ last_four }) => last_four,
  expires: ({ expires }) => expires,
  created: ({ created_at }) => created_at,
}

export function paymentMethodCommand(): Command {
  return new Command('payment-method')
    .description('manage saved payment methods')
    .addCommand(
      listCommand({
        description: 'list saved payment methods, newest first',
        columns,
        shown: ['id', 'provider', 'brand', 'last_four', 'expires'],
        items: async ({ berth }) => berth.payments.allMethods(),
      }),
    )
    .addCommand(
      deleteCommand(
        paymentMethodKind,
        'delete a saved payment method, here and at the provider',
        (berth, id) => berth.payments.deleteMethod(id),
      ),
    )
}
