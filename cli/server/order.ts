import type { Berth, ServerCreate } from '@berth/sdk'
import { exitCodes, Refusal } from '../errors.ts'
import { find, idOf } from '../names.ts'

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

/** The order that slugs and names stand for. @throws Refusal where one names nothing */
export async function orderOf(
  berth: Berth,
  name: string | undefined,
  { template, zone, cpuType, sshKey = [], ...size }: OrderOptions,
): Promise<ServerCreate> {
  const place = zone === undefined ? (await berth.zones.list())[0] : await find(berth, 'zone', zone)
  if (!place) throw new Refusal('There is no zone.', 'Ask the operator for one.', exitCodes.notFound)
  const { zone_slug } = place
  const cpu_type = cpuType ?? place.cpu_types[0] ?? 'amd'
  const { template_id } = await find(berth, 'template', template)
  const ssh_key_ids = await Promise.all(sshKey.map((key) => idOf(berth, 'ssh-key', key)))
  const common = { name, zone_slug, cpu_type, template_id, ssh_key_ids }
  if (!size.preset)
    return { ...common, plan_type: 'custom', cpu: size.cpu, ram_mb: size.ramMb, disk_gb: size.diskGb }
  const presets = await berth.presets.list({ zone_slug, cpu_type })
  const preset = presets.find(({ slug, preset_id }) => slug === size.preset || preset_id === size.preset)
  if (!preset)
    throw new Refusal(
      `There is no preset ${size.preset} in ${zone_slug}.`,
      `There are: ${presets.map(({ slug }) => slug).join(', ')}.`,
      exitCodes.notFound,
    )
  return { ...common, plan_type: 'preset', preset_id: preset.preset_id }
}
