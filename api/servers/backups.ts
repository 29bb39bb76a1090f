import { v7 as uuid } from 'uuid'
import { lockAccount } from '../accounts/accounts.ts'
import { resumedAt } from '../billing/rates.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import { bodyIssue, invalid } from '../http/contract/problem.ts'
import { BACKUPS_KEPT_MS, expireBackups, newestBackupAt, retainBackups } from '../snapshots/backups.ts'
import { backupPrice, billBackups } from './backup-pricing.ts'
import { nextWindow, usualHour } from './backup-window.ts'
import { requireCover } from './cover.ts'
import type { ServerUpdate } from './order-schema.ts'
import { isFree } from './states.ts'
import type { ServerTable } from './tables.ts'

/** The least time between two backups of a server whose hour changes. */
const LEAST_PAUSE_MS = 12 * 3600_000
/** Backups that are turned on again wait this long: otherwise customers could turn them on for minutes and get a backup. */
const LEAST_PAID_MS = 20 * 3600_000

export type BackupColumns = Pick<
  ServerTable,
  'backup_hour' | 'backup_due_at' | 'backup_item' | 'backup_price_month' | 'backup_price_hour'
>

/** The columns of a server without backups. */
export const NO_BACKUPS: BackupColumns = {
  backup_hour: null,
  backup_due_at: null,
  backup_item: null,
  backup_price_month: 0,
  backup_price_hour: 0,
}

/**
 * Turns the backups of a server, whose row is locked, on or off, or changes their hour.
 * @returns the changed columns
 * @throws ApiError validation_failed, insufficient_balance
 */
export async function changeBackups(
  tx: Queries,
  catalog: Catalog,
  server: ServerTable,
  { backups_enabled, backup_window }: Pick<ServerUpdate, 'backups_enabled' | 'backup_window'>,
  now: number,
): Promise<Partial<ServerTable>> {
  if (backups_enabled === undefined && backup_window === undefined) return {}
  const isOn = backups_enabled ?? server.backup_hour !== null
  if (!isOn && backup_window !== undefined)
    throw invalid([bodyIssue('backup_window', 'mutually_exclusive', 'Backups are off; turn them on, too.')])
  const change = isOn
    ? await turnedOn(tx, catalog, server, backup_window, now)
    : await turnedOff(tx, server, now)
  if (server.billed_since !== null && !isFree(server.status))
    await billBackups(tx, { ...server, ...change }, true, now)
  return change
}

async function turnedOn(
  tx: Queries,
  catalog: Catalog,
  server: ServerTable,
  wanted: number | undefined,
  now: number,
): Promise<Partial<ServerTable>> {
  const { server_id, account_id } = server
  const backup_hour = wanted ?? server.backup_hour ?? usualHour(server_id)
  if (backup_hour === server.backup_hour) return {}
  const last = await newestBackupAt(tx, server_id)
  const paidUntil = (await paidAgainSince(tx, server, now)) + LEAST_PAID_MS
  const backup_due_at = nextWindow(backup_hour, Math.max(now, (last ?? 0) + LEAST_PAUSE_MS, paidUntil))
  if (server.backup_hour !== null) return { backup_hour, backup_due_at }
  const price = backupPrice(catalog, server, server.price_month, now)
  await lockAccount(tx, account_id)
  if (price.backup_price_hour > 0) await requireCover(tx, account_id, price.backup_price_hour)
  await retainBackups(tx, server_id, now)
  return { backup_hour, backup_due_at, backup_item: server.backup_item ?? uuid(), ...price }
}

/** The time at which the backups of a server were turned on again; 0 if they never were. */
async function paidAgainSince(
  tx: Queries,
  { backup_hour, backup_item }: ServerTable,
  now: number,
): Promise<number> {
  if (backup_item === null) return 0
  return backup_hour === null ? now : ((await resumedAt(tx, backup_item)) ?? 0)
}

async function turnedOff(tx: Queries, server: ServerTable, now: number): Promise<Partial<ServerTable>> {
  if (server.backup_hour === null) return {}
  await expireBackups(tx, server, now + BACKUPS_KEPT_MS, now)
  const { backup_item: _, ...off } = NO_BACKUPS
  return off
}
