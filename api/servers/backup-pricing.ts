import { changeRate } from '../billing/rates.ts'
import type { Catalog } from '../catalog/file.ts'
import { pricesAt } from '../catalog/prices.ts'
import type { Queries } from '../database/database.ts'
import { costOf, hourPrice } from '../money.ts'
import { billedServer } from './queries.ts'
import type { ServerTable } from './tables.ts'

/**
 * Returns the price of a server's backups at a time: a share of the server's own price.
 * @param priceMonth the price of the server
 */
export function backupPrice(
  { prices }: Catalog,
  { zone_slug, cpu_type }: Pick<ServerTable, 'zone_slug' | 'cpu_type'>,
  priceMonth: number,
  at: number,
): Pick<ServerTable, 'backup_price_month' | 'backup_price_hour'> {
  const percent = pricesAt(prices, zone_slug, cpu_type, at)?.backupsPercent ?? 0
  const month = costOf(percent, priceMonth, 100)
  return { backup_price_month: month, backup_price_hour: hourPrice(month) }
}

/** The backup columns that change with the price of a server; none if its backups are off. */
export function backupPriceIf(
  catalog: Catalog,
  server: Pick<ServerTable, 'zone_slug' | 'cpu_type' | 'backup_hour'>,
  priceMonth: number,
  at: number,
): Partial<ServerTable> {
  return server.backup_hour === null ? {} : backupPrice(catalog, server, priceMonth, at)
}

/** Starts or stops billing a server and its backups at the prices of its row. */
export async function billServer(
  tx: Queries,
  server: ServerTable,
  isBilled: boolean,
  at: number,
): Promise<void> {
  await changeRate(tx, billedServer(server), isBilled ? server : null, at)
  await billBackups(tx, server, isBilled, at)
}

/** Starts or stops billing the backups of a server at the price of its row. */
export async function billBackups(
  tx: Queries,
  { backup_item, account_id, ...server }: ServerTable,
  isBilled: boolean,
  at: number,
): Promise<void> {
  if (backup_item === null) return
  const price = { price_hour: server.backup_price_hour, price_month: server.backup_price_month }
  const item = { item_type: 'backup' as const, item_id: backup_item, account_id }
  await changeRate(tx, item, isBilled && price.price_hour > 0 ? price : null, at)
}
