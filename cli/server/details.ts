import type { ServerDetails } from '@berth/sdk'
import { Command } from 'commander'
import { idOf } from '../find.ts'
import type { Columns } from '../output.ts'
import { action } from '../session.ts'
import { includedOf, reasonOf, rub, sizeOf, trafficParts } from '../units.ts'
import { serverKind } from './kind.ts'
import { addressOf } from './ports.ts'

const listed = (items: string[]) => (items.length > 0 ? items.join(', ') : null)

const parts: Columns<ServerDetails> = {
  ID: (server) => server.server_id,
  Name: ({ name }) => name,
  Description: ({ description }) => description,
  Project: ({ project }) => project.name,
  Labels: ({ labels }) => listed(Object.entries(labels).map(([name, value]) => `${name}=${value}`)),
  Status: (server) => (server.status_reason ? `${server.status} (${reasonOf(server)})` : server.status),
  Operation: ({ current_operation }) =>
    current_operation &&
    `${current_operation.type}, ${current_operation.progress}%: ${current_operation.operation_id}`,
  'Allowed actions': ({ allowed_actions }) => listed(allowed_actions),
  Rescue: ({ rescue }) => rescue,
  Protected: ({ delete_protection }) => delete_protection,
  Zone: ({ zone, zone_slug }) => (zone ? `${zone_slug} (${zone.title})` : zone_slug),
  OS: ({ template }) => template?.title,
  'Made from': ({ source_id }) => source_id,
  Plan: ({ plan_type, preset }) => preset?.slug ?? plan_type,
  Size: sizeOf,
  'CPU type': ({ cpu_type }) => cpu_type,
  Created: ({ created_at }) => created_at,
  Started: ({ started_at }) => started_at,
  'Will be deleted': ({ delete_at }) => delete_at,
  'Host name': ({ network }) => network.hostname,
  'MAC address': ({ network }) => network.mac,
  'Public IPv4': ({ ipv4 }) => ipv4,
  'Public IPv6': ({ ipv6 }) => ipv6,
  IPv4: ({ network: { ipv4 } }) => ipv4 && `${ipv4.address}/${ipv4.prefix_length}, gateway ${ipv4.gateway}`,
  IPv6: ({ network: { ipv6 } }) => ipv6 && `${ipv6.address}/${ipv6.prefix_length}, gateway ${ipv6.gateway}`,
  Resolvers: ({ network }) => listed(network.resolvers),
  'Published ports': ({ network }) =>
    listed(
      network.published_ports.map((port) => {
        const place = `${port.port}/${port.protocol} at ${addressOf(port)}`
        return port.status === 'active' ? place : `${place} (${port.status})`
      }),
    ),
  'Private networks': ({ network }) =>
    listed(
      network.private.map(
        ({ name, ipv4, prefix_length, mac }) => `${name}: ${ipv4}/${prefix_length}, ${mac}`,
      ),
    ),
  'SSH command': ({ ssh }) => ssh.command,
  'SSH ready': ({ ssh }) => ssh.is_ready,
  Authentication: ({ ssh }) => listed(ssh.auth_methods.map((method) => method.replaceAll('_', ' '))),
  'SSH keys': ({ ssh }) => listed(ssh.keys.map(({ name, fingerprint }) => `${name} ${fingerprint}`)),
  Password: ({ ssh }) => ssh.password,
  'Host keys': ({ ssh }) =>
    listed(ssh.host_key_fingerprints.map(({ type, fingerprint }) => `${type} ${fingerprint}`)),
  'Price per month': ({ billing }) => rub(billing.price_month_rub),
  'Price per hour': ({ billing }) => rub(billing.price_hour_rub),
  'Cost this month': ({ billing }) => rub(billing.month_to_date_rub),
  'Traffic per month': ({ traffic }) => includedOf(traffic),
  'Sent this month': ({ traffic }) => `${(traffic.out_bytes / 1e9).toFixed(3)} GB`,
  'Further traffic this month': ({ traffic }) => rub(traffic.excess_rub),
  'Mbit/s': ({ traffic }) => trafficParts['Mbit/s'](traffic),
  'Billed since': ({ billing }) => billing.billed_since,
  'Billed when stopped': ({ billing }) => billing.is_billed_when_stopped,
}

export function detailsCommand(): Command {
  return new Command('details')
    .description('show server details: network, SSH, host keys and costs')
    .argument('<server>', 'name or id')
    .action(
      action(async ({ berth, show }, given: string) => {
        await show(await berth.servers.details(await idOf(berth, serverKind, given)), parts)
      }),
    )
}
