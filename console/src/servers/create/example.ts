import type { ServerCreate } from '@berth/sdk'
import { berthCommand, type Example } from '../../ui/example.ts'

/** The order as a call of the API. */
export function exampleOf(request: ServerCreate): Example {
  const { name = '', template, preset, cpu, ram_mb, disk_gb } = request
  const command = berthCommand(name === '' ? 'server create' : `server create ${name}`, {
    template,
    image: request.image_id,
    preset,
    cpu,
    'ram-mb': ram_mb,
    'disk-gb': disk_gb,
    zone: request.zone_slug,
    'cpu-type': request.cpu_type,
    'ssh-key': request.ssh_key_ids,
    'no-ssh-key': request.ssh_key_ids === undefined,
    project: request.project_id,
    label: Object.entries(request.labels ?? {}).map((pair) => pair.join('=')),
    publish: request.published_ports?.map(({ port, protocol }) => `${port}/${protocol}`),
    'no-ipv4': request.enable_ipv4 === false,
    'no-ipv6': request.enable_ipv6 === false,
    network: request.network_ids,
    firewall: request.firewall_ids,
    backups: request.backups_enabled,
    'delete-protection': request.delete_protection,
  })
  return { route: 'POST /servers', body: request, berth: command, sdk: 'servers.create' }
}
