import { ipv6Of } from '../addresses/view.ts'
import { type Catalog, findTemplate, hostOf } from '../catalog/file.ts'
import type { Plan } from '../catalog/plans.ts'
import { catalogProblems } from '../catalog/schema.ts'
import { trafficView } from '../catalog/view.ts'
import { SSH_PORT } from '../drivers/driver.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { type ApiError, httpProblems } from '../http/contract/problem.ts'
import { formatMoney } from '../money.ts'
import type { Figures } from '../monitoring/schema.ts'
import { membershipsOf } from '../networks/memberships.ts'
import type { OperationTable } from '../operations/tables.ts'
import type { ServerStats } from './details-schema.ts'
import type { QuoteRequest } from './order-schema.ts'
import type { Quote } from './quote-schema.ts'
import { RESCUE_USER } from './rescue-login.ts'
import type { Server } from './schema.ts'
import type { ServerTable } from './tables.ts'

/** The problems of a host without enough capacity, or whose capacity is unknown. */
const NO_ROOM: readonly unknown[] = [catalogProblems.capacity_unavailable, httpProblems.backend_unavailable]

/** The keys that a server was created with. */
export interface StoredKey {
  ssh_key_id: string
  name: string
  fingerprint: string
  public_key: string
}

export function storedKeys(row: Pick<ServerTable, 'ssh_keys'>): StoredKey[] {
  const keys: StoredKey[] = JSON.parse(row.ssh_keys)
  return keys
}

/** Columns that lists show: neither secrets nor columns that only steps need. */
export const LISTED = [
  'server_id',
  'name',
  'description',
  'project_id',
  'zone_slug',
  'status',
  'copying',
  'backing_up',
  'backup_hour',
  'status_reason',
  'suspension_reason',
  'plan_type',
  'cpu_type',
  'preset_id',
  'cpu',
  'ram_mb',
  'disk_gb',
  'template_id',
  'source_id',
  'username',
  'ssh_keys',
  'labels',
  'delete_protection',
  'price_month',
  'price_hour',
  'created_at',
  'updated_at',
  'started_at',
  'delete_at',
  'ssh_port',
  'ipv4',
  'ipv6',
  'networks',
  'rescue_id',
  'iso_id',
] as const satisfies readonly (keyof ServerTable)[]
export type ListedServer = Pick<ServerTable, (typeof LISTED)[number]>

/** The data for the SSH address of a server. */
export interface SshPlace {
  catalog: Catalog
  /** The address at which SSH ports listen. */
  sshHost: string
}

/** @param active the operation in progress on it */
export function serverView(
  place: SshPlace,
  row: ListedServer,
  active: OperationTable | null | undefined,
): Server {
  return { ...serverData(row, active), ssh: sshView(place, row) }
}

export function sshView(
  { catalog, sshHost }: SshPlace,
  {
    template_id,
    username: own,
    zone_slug,
    ssh_port,
    ipv4,
    rescue_id,
  }: Pick<ServerTable, 'template_id' | 'username' | 'zone_slug' | 'ssh_port' | 'ipv4' | 'rescue_id'>,
): Server['ssh'] {
  const usual = own ?? findTemplate(catalog, template_id)?.defaultUsername ?? 'root'
  const username = rescue_id === null ? usual : RESCUE_USER
  if (ipv4 !== null) return { host: ipv4, port: SSH_PORT, username }
  return { host: hostOf(catalog, zone_slug, sshHost), port: ssh_port, username }
}

/** A server as events contain it, with the data of its row alone. */
export function serverData(
  row: ListedServer,
  active: OperationTable | null | undefined,
): Omit<Server, 'ssh'> {
  const labels: Server['labels'] = JSON.parse(row.labels)
  return {
    server_id: row.server_id,
    name: row.name,
    description: row.description,
    project_id: row.project_id,
    zone_slug: row.zone_slug,
    status: row.status,
    status_reason: row.status_reason,
    suspension_reason: row.suspension_reason,
    plan_type: row.plan_type,
    cpu_type: row.cpu_type,
    preset_id: row.preset_id,
    cpu: row.cpu,
    ram_mb: row.ram_mb,
    disk_gb: row.disk_gb,
    template_id: row.template_id || null,
    source_id: row.source_id,
    ssh_key_ids: storedKeys(row).map((key) => key.ssh_key_id),
    ipv4: row.ipv4,
    ipv6: ipv6Of(row.ipv6),
    networks: membershipsOf(row).map(({ network_id, ipv4 }) => ({ network_id, ipv4 })),
    labels,
    delete_protection: row.delete_protection === 1,
    rescue: row.rescue_id !== null,
    iso_id: row.iso_id,
    backups_enabled: row.backup_hour !== null,
    backup_window: row.backup_hour,
    price_month_rub: formatMoney(row.price_month),
    price_hour_rub: formatMoney(row.price_hour, 4),
    current_operation: active
      ? {
          operation_id: active.operation_id,
          type: active.type,
          status: active.status,
          progress: active.progress,
        }
      : null,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
    started_at: isoTimeOrNull(row.started_at),
    delete_at: isoTimeOrNull(row.delete_at),
  }
}

export function statsView(
  { server_id, status, started_at }: Pick<ServerTable, 'server_id' | 'status' | 'started_at'>,
  figures: Figures,
): ServerStats {
  const upMs = started_at === null ? null : Date.parse(figures.collected_at) - started_at
  return {
    server_id,
    status,
    uptime_seconds: upMs === null ? null : Math.max(0, Math.floor(upMs / 1000)),
    ...figures,
  }
}

export function quoteView(
  { zone_slug, cpu_type }: QuoteRequest,
  { plan, blockers }: { plan: Plan; blockers: ApiError[] },
  now: number,
): Quote {
  return {
    zone_slug,
    cpu_type,
    plan_type: plan.planType,
    preset_id: plan.presetId,
    ...plan.size,
    currency: 'RUB',
    price_hour_rub: formatMoney(plan.priceHour, 4),
    price_month_rub: formatMoney(plan.priceMonth),
    items: plan.items.map(({ code, quantity, unit, priceUnitMonth, priceMonth }) => ({
      code,
      quantity,
      unit,
      price_unit_month_rub: formatMoney(priceUnitMonth),
      price_month_rub: formatMoney(priceMonth),
    })),
    ...trafficView(plan.traffic),
    is_available: !blockers.some((blocker) => NO_ROOM.includes(blocker.type)),
    can_create: blockers.length === 0,
    blockers: blockers.map((blocker) => ({ code: blocker.type.code, detail: blocker.message })),
    quoted_at: isoTime(now),
  }
}
