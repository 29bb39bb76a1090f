import type { Transaction } from '@berth/sdk'
import { Command } from 'commander'
import { addLimitOption, type LimitOptions, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { listCommand } from './session.ts'
import { rub } from './units.ts'

const columns: Columns<Transaction> = {
  id: ({ transaction_id }) => transaction_id,
  type: ({ type }) => type,
  amount: ({ amount }) => rub(amount),
  balance: ({ balance_after }) => rub(balance_after),
  item: ({ item_type, item_name }) => item_type && `${item_type} ${item_name}`,
  item_id: ({ item_id }) => item_id,
  description: ({ description }) => description,
  server: ({ server_id }) => server_id,
  created: ({ created_at }) => created_at,
}

export function transactionCommand(): Command {
  return new Command('transaction').description('view payments and charges').addCommand(
    addLimitOption(
      listCommand({
        description: 'list transactions, newest first',
        columns,
        shown: ['id', 'type', 'amount', 'balance', 'item', 'description', 'created'],
        items: async (session, options: LimitOptions) =>
          upTo(session, options, session.berth.transactions.listAll()),
      }),
    ),
  )
}
