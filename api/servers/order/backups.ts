import { v7 as uuid } from 'uuid'
import { backupsItem, type Plan } from '../../catalog/plans.ts'
import { bodyIssue } from '../../http/contract/problem.ts'
import { backupPrice } from '../backup-pricing.ts'
import { nextWindow, usualHour } from '../backup-window.ts'
import type { Asked, OrderPart } from './part.ts'

/** Daily backups, at a share of the plan's price. */
export function backupsPart({ options, request, at }: Asked, plan: Plan | null): OrderPart {
  const { zone_slug, cpu_type, backups_enabled, backup_window } = request
  if (!backups_enabled) {
    const message = 'requires backups_enabled.'
    return backup_window === undefined
      ? {}
      : { issues: [bodyIssue('backup_window', 'mutually_exclusive', message)] }
  }
  const price = backupPrice(options.catalog, { zone_slug, cpu_type }, plan?.priceMonth ?? 0, at)
  const { backup_price_month: price_month, backup_price_hour: price_hour } = price
  return {
    price: { price_month, price_hour, item: backupsItem(price_month) },
    check: (server) => options.capacity.require(server, 'backups'),
    take: async (_tx, { server: { server_id, created_at } }) => {
      const backup_hour = backup_window ?? usualHour(server_id)
      return {
        backup_hour,
        backup_due_at: nextWindow(backup_hour, created_at),
        backup_item: uuid(),
        ...price,
      }
    },
  }
}
