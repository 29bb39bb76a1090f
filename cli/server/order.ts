import type { QuoteRequest, ServerCreate } from '@berth/sdk'
import type { Command } from 'commander'
import { exitCodes, Refusal } from '../errors.ts'
import { wholeNumber } from '../flags.ts'
import { find, idOf } from '../names.ts'
import { addPlaceOptions, type PlaceOptions, placeOf } from '../place.ts'
import type { Session } from '../session.ts'

export interface OrderOptions extends PlaceOptions {
  template?: string
  preset?: string
  cpu?: number
  ramMb?: number
  diskGb?: number
  sshKey?: string[]
}

/** Adds the options that say what is ordered. */
export function addOrderOptions(command: Command): Command {
  command
    .option('--template <slug>', 'its operating system')
    .option('--preset <slug>', 'its size; or give all of --cpu, --ram-mb and --disk-gb')
    .option('--cpu <cores>', 'cores', wholeNumber)
    .option('--ram-mb <mb>', 'memory', wholeNumber)
    .option('--disk-gb <gb>', 'disk', wholeNumber)
  return addPlaceOptions(command).option(
    '--ssh-key <ssh-key...>',
    'keys that may log in, by name or id; a server without any has a password',
  )
}

/** The order that slugs and names stand for. @throws Refusal where one names nothing */
export async function orderOf(
  session: Session,
  name: string | undefined,
  { template = '', ...options }: OrderOptions,
): Promise<ServerCreate> {
  const { template_id } = await find(session.berth, 'template', template)
  return { ...(await requestOf(session, options)), name, template_id }
}

/** The same without what a price does not depend on: neither a name nor, unless it is said, a template. */
export async function requestOf(
  { berth }: Session,
  { template, zone, cpuType, sshKey = [], ...size }: OrderOptions,
): Promise<QuoteRequest> {
  const { zone_slug, cpu_type } = await placeOf(berth, { zone, cpuType })
  const template_id = template === undefined ? undefined : await idOf(berth, 'template', template)
  const ssh_key_ids = await Promise.all(sshKey.map((key) => idOf(berth, 'ssh-key', key)))
  const common = { zone_slug, cpu_type, template_id, ssh_key_ids }
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
