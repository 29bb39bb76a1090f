import { createHash, randomInt } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { MOST_NUMBERS } from '../../drivers/addresses.ts'
import { generateName } from '../host-name.ts'
import { loginColumns } from '../login.ts'
import type { QuoteRequest, ServerCreate } from '../order-schema.ts'
import { planColumns } from '../plan-columns.ts'
import type { ServerTable } from '../tables.ts'
import type { Order } from './order.ts'
import type { NewServer, OrderedServer, OrderOptions, TakenColumns } from './part.ts'

/** Chooses the id and the pool of a server that is ordered. It writes nothing. */
export function newServer(
  { clock, capacity }: OrderOptions,
  accountId: string,
  { zone_slug, cpu_type, labels = {} }: QuoteRequest,
): NewServer {
  return {
    server_id: uuid(),
    account_id: accountId,
    zone_slug,
    cpu_type,
    pool: capacity.poolOf(zone_slug),
    labels: JSON.stringify(labels),
    created_at: clock.now(),
  }
}

/** The row of a new server. Its create operation sets the status. */
export function newRow(
  { secrets }: OrderOptions,
  server: OrderedServer,
  request: ServerCreate,
  { plan, source, keys, pricedAt }: Order,
  taken: TakenColumns,
): Omit<ServerTable, 'status'> {
  return {
    ...server,
    ...taken,
    number: randomInt(1, MOST_NUMBERS + 1),
    name: request.name ?? generateName(),
    description: request.description ?? null,
    status_reason: null,
    ...planColumns(plan),
    // The schema requires a source in an order, and an unknown source was refused.
    template_id: source?.templateId as string,
    username: source?.username ?? null,
    ...loginColumns(secrets, keys, request.user_data),
    delete_protection: request.delete_protection ? 1 : 0,
    priced_at: pricedAt,
    ...{ suspension_reason: null, hold_changed_at: null },
    suspended_from: null,
    delete_at: null,
    mac: macOf(server.server_id),
    host_keys: '[]',
    has_disk: 0,
    copying: null,
    backing_up: null,
    snapshot_id: source?.snapshotId ?? null,
    source_id: source?.snapshotId ?? null,
    instance_id: null,
    rescue_id: null,
    iso_id: null,
    rescue_login: null,
    crash_count: 0,
    crashed_at: null,
    down_at: null,
    billed_since: null,
    started_at: null,
    updated_at: server.created_at,
    deleted_at: null,
  }
}

/** A locally administered address (QEMU's prefix) that follows from the id, so that it never changes. */
function macOf(serverId: string): string {
  const digest = createHash('sha256').update(serverId).digest()
  return ['52', '54', '00', ...[0, 1, 2].map((at) => digest.toString('hex', at, at + 1))].join(':')
}
