import type { QuoteRequest, ServerCreate, Zone } from '@berth/sdk'
import { sourceOf } from '../systems.ts'

/** The contents of the form; the API decides on empty fields. */
export interface Order {
  zone_slug: string
  cpu_type: 'amd' | 'intel'
  /** The value of a system (systems.ts). */
  system: string
  plan_type: 'preset' | 'custom'
  /** The slug of the preset. */
  preset: string
  cpu: number
  ram_mb: number
  disk_gb: number
  name: string
  project_id: string
  ssh_key_ids: readonly string[]
  network_ids: readonly string[]
  firewall_ids: readonly string[]
  ports: string
  enable_ipv4: boolean
  enable_ipv6: boolean
  user_data: string
  labels: string
  delete_protection: boolean
  backups_enabled: boolean
}

export type ChangeOrder = (part: Partial<Order>) => void

/** Parses ports such as `80, 53/udp`; the form reports invalid ones. */
export function readPorts(text: string): { protocol: 'tcp' | 'udp'; port: number }[] | null {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '')
  const ports = parts.flatMap((part) => {
    const [, port, protocol = 'tcp'] = /^(\d{1,5})(?:\/(tcp|udp))?$/.exec(part) ?? []
    return port === undefined
      ? []
      : [{ protocol: protocol === 'udp' ? ('udp' as const) : ('tcp' as const), port: Number(port) }]
  })
  return ports.length === parts.length ? ports : null
}

/** Parses labels such as `env=prod, web`; null if one is invalid. */
export function readLabels(text: string): Record<string, string> | null {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '')
  const isLabel = parts.every((part) => /^[^=]+(=[^=]*)?$/.test(part))
  return isLabel
    ? Object.fromEntries(parts.map((part) => [part.split('=')[0] ?? '', part.split('=')[1] ?? '']))
    : null
}

/** Converts the form to a request, for the quote and the order alike. */
export function requestOf(order: Order, features: Zone['features']): ServerCreate & QuoteRequest {
  const { zone_slug, cpu_type, system, plan_type, cpu, ram_mb, disk_gb } = order
  const ports = readPorts(order.ports) ?? []
  const labels = readLabels(order.labels) ?? {}
  const size = plan_type === 'preset' ? { preset: order.preset } : { cpu, ram_mb, disk_gb }
  return {
    zone_slug,
    cpu_type,
    ...sourceOf(system),
    plan_type,
    ...size,
    ...(order.name === '' ? {} : { name: order.name }),
    ...(order.project_id === '' ? {} : { project_id: order.project_id }),
    ...(order.ssh_key_ids.length > 0 ? { ssh_key_ids: [...order.ssh_key_ids] } : {}),
    ...(order.network_ids.length > 0 ? { network_ids: [...order.network_ids] } : {}),
    ...(order.firewall_ids.length > 0 ? { firewall_ids: [...order.firewall_ids] } : {}),
    ...(ports.length > 0 ? { published_ports: ports } : {}),
    ...(features.includes('public_ipv4') && !order.enable_ipv4 ? { enable_ipv4: false } : {}),
    ...(features.includes('public_ipv6') && !order.enable_ipv6 ? { enable_ipv6: false } : {}),
    ...(order.user_data === '' ? {} : { user_data: order.user_data }),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(order.delete_protection ? { delete_protection: true } : {}),
    ...(features.includes('backups') && order.backups_enabled ? { backups_enabled: true } : {}),
  }
}
