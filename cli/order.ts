import type { Berth, ServerCreate } from '@berth/sdk'
import { Refusal } from './refusal.ts'

export interface OrderOptions {
  template: string
  preset?: string
  cpu?: number
  ramMb?: number
  diskGb?: number
  zone?: string
  cpuType?: 'amd' | 'intel'
  sshKey?: string[]
}

/** The order that slugs and names stand for. @throws Refusal that lists what there is, where one names nothing */
export async function orderOf(
  berth: Berth,
  name: string | undefined,
  { template, zone, cpuType, sshKey = [], ...size }: OrderOptions,
): Promise<ServerCreate> {
  const place = pick('zone', await berth.zones.list(), 'zone_slug', zone)
  const { zone_slug } = place
  const cpu_type = cpuType ?? place.cpu_types[0] ?? 'amd'
  const { template_id } = pick('template', await berth.templates.list(), 'slug', template)
  const keys = sshKey.length === 0 ? [] : (await berth.sshKeys.list({ limit: 200 })).items
  const ssh_key_ids = sshKey.map((key) => pick('SSH key', keys, 'name', key).ssh_key_id)
  const common = { name, zone_slug, cpu_type, template_id, ssh_key_ids }
  if (!size.preset)
    return { ...common, plan_type: 'custom', cpu: size.cpu, ram_mb: size.ramMb, disk_gb: size.diskGb }
  const presets = await berth.presets.list({ zone_slug, cpu_type })
  const { preset_id } = pick('preset', presets, 'slug', size.preset)
  return { ...common, plan_type: 'preset', preset_id }
}

/** The one of that name; the first where none is asked for. */
function pick<Item, Name extends keyof Item>(
  noun: string,
  items: Item[],
  by: Name,
  wanted: string | undefined,
): Item {
  const found = wanted === undefined ? items[0] : items.find((item) => item[by] === wanted)
  if (found) return found
  const names = items.map((item) => item[by]).join(', ') || 'none'
  throw new Refusal(`There is no ${noun} ${wanted ?? ''}. There is: ${names}.`)
}
