import type { Server, ServerFilter } from '@berth/sdk'
import type { Command } from 'commander'
import { idOf } from '../find.ts'
import { labelText, withLabelFilter } from '../labels.ts'
import type { Columns } from '../output.ts'
import { projectKind } from '../project.ts'
import { listCommand } from '../session.ts'
import { rub } from '../units.ts'

const columns: Columns<Server> = {
  id: ({ server_id }) => server_id,
  name: ({ name }) => name,
  status: ({ status }) => status,
  zone: ({ zone_slug }) => zone_slug,
  cpu: ({ cpu }) => cpu,
  ram_mb: ({ ram_mb }) => ram_mb,
  disk_gb: ({ disk_gb }) => disk_gb,
  month: ({ price_month_rub }) => rub(price_month_rub),
  ipv4: ({ ipv4 }) => ipv4,
  ipv6: ({ ipv6 }) => ipv6,
  labels: labelText,
  project: ({ project_id }) => project_id,
  created: ({ created_at }) => created_at,
}

export function listServers(): Command {
  type Filter = Pick<ServerFilter, 'status' | 'label'> & { project?: string; zone?: string }
  const command = listCommand({
    description: 'list servers, newest first',
    columns,
    shown: ['id', 'name', 'status', 'zone', 'cpu', 'ram_mb', 'disk_gb', 'month'],
    items: async ({ berth }, { status, label, project, zone: zone_slug }: Filter) => {
      const project_id = project === undefined ? undefined : await idOf(berth, projectKind, project)
      return berth.servers.listAll({ status, label, project_id, zone_slug })
    },
  }).option('--status <status>', 'only servers with this status')
  return withLabelFilter(command, 'servers')
    .option('--project <project>', 'only servers in this project, by name or id')
    .option('--zone <zone>', 'only servers in this zone')
}
