import type { ServerTable } from '../../api/database/schema.ts'

/** The row of a server that runs and is billed, for what looks at rows only: no machine belongs to it. */
export function serverRow(
  server: Pick<ServerTable, 'server_id' | 'account_id' | 'price_hour' | 'price_month'>,
  at: number,
): ServerTable {
  return {
    project_id: 'p',
    name: server.server_id,
    description: null,
    zone_slug: 'local-1',
    pool: 'local',
    status: 'running',
    status_reason: null,
    plan_type: 'custom',
    cpu_type: 'amd',
    preset_id: null,
    cpu: 1,
    ram_mb: 1024,
    disk_gb: 10,
    template_id: '',
    ssh_keys: '[]',
    user_data: null,
    password: null,
    labels: '{}',
    delete_protection: 0,
    mac: '',
    ssh_port: null,
    host_keys: '[]',
    has_disk: 1,
    crash_count: 0,
    crashed_at: null,
    suspended_from: null,
    priced_at: at,
    billed_since: at,
    started_at: at,
    created_at: at,
    updated_at: at,
    deleted_at: null,
    ...server,
  }
}
