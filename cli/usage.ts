import type { Usage, UsageItem } from '@berth/sdk'
import { Command } from 'commander'
import { type Columns, showText, showWithItems } from './output.ts'
import { action } from './session.ts'
import { rub } from './units.ts'

const parts: Columns<Usage> = {
  Month: ({ month }) => month,
  Amount: ({ amount, currency }) => `${amount} ${currency}`,
  'Traffic in': ({ traffic }) => gigabytes(traffic.map(({ in_bytes }) => in_bytes)),
  'Traffic out': ({ traffic }) => gigabytes(traffic.map(({ out_bytes }) => out_bytes)),
}

const columns: Columns<UsageItem> = {
  type: ({ item_type }) => item_type,
  id: ({ item_id }) => item_id,
  name: ({ item_name }) => item_name,
  project: ({ project_id }) => project_id,
  hours: ({ hours }) => hours,
  traffic: ({ traffic_amount }) => rub(traffic_amount),
  amount: ({ amount }) => rub(amount),
}

const gigabytes = (bytes: number[]) => `${(bytes.reduce((sum, count) => sum + count, 0) / 1e9).toFixed(3)} GB`

export function usageCommand(): Command {
  return new Command('usage')
    .description('show the cost of a month by server or address and project')
    .option('--month <month>', 'month in UTC, such as 2026-11 (default: the current one)')
    .option('--csv', 'print CSV, regardless of -o')
    .action(
      action(async ({ berth, terminal, format }, { month, csv }: { month?: string; csv?: boolean }) => {
        if (csv) return showText(terminal.stdout, await berth.usage.csv({ month }))
        const item = await berth.usage.get({ month })
        await showWithItems(terminal.stdout, format, { item, parts }, { items: item.items, columns })
      }),
    )
}
