import { readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import type { Berth, Preset, QuoteRequest, ServerCreate } from '@berth/sdk'
import type { Command } from 'commander'
import { exitCodes, Refusal } from '../errors.ts'
import { find, idOf } from '../find.ts'
import { addLabel, type Labels, repeated, wholeNumber } from '../flags.ts'
import { addPlaceOptions, type PlaceOptions, placeOf } from '../place.ts'
import type { Session } from '../session.ts'
import type { Terminal } from '../terminal.ts'

export interface OrderOptions extends PlaceOptions {
  template?: string
  preset?: string
  cpu?: number
  ramMb?: number
  diskGb?: number
  sshKey?: string[]
  project?: string
  label?: Labels
  userDataFile?: string
  description?: string
  /** Whether it is started when it is made; so it is without --no-start. */
  start: boolean
  deleteProtection?: boolean
}

/** Adds the options that say what is ordered. */
export function addOrderOptions(command: Command): Command {
  command
    .option('--template <template>', 'its operating system')
    .option('--preset <preset>', 'its size; or give all of --cpu, --ram-mb and --disk-gb')
    .option('--cpu <cores>', 'cores', wholeNumber)
    .option('--ram-mb <mb>', 'memory', wholeNumber)
    .option('--disk-gb <gb>', 'disk', wholeNumber)
  return addPlaceOptions(command)
    .option(
      '--ssh-key <ssh-key>',
      'a key that may log in, by name or id; again for each; a server without any has a password',
      repeated,
    )
    .option('--project <project>', 'where it belongs, by name or id; the default project without it')
    .option('--label <name=value>', 'a label; again for each', addLabel)
    .option(
      '--user-data-file <file>',
      'what cloud-init carries out at the first start; - reads it from a pipe',
    )
    .option('--description <text>', 'what it is for')
    .option('--no-start', 'make it, and leave it off')
    .option('--delete-protection', 'refuse to delete it until this is taken off')
}

/** Whether any option says what is ordered: then nothing is asked. */
export function saysOrder({ start, ...others }: OrderOptions): boolean {
  return !start || Object.values(others).some((value) => value !== undefined)
}

/** The order that slugs and names stand for. @throws Refusal where one names nothing, or there is no template */
export async function orderOf(
  session: Session,
  name: string | undefined,
  { template, ...options }: OrderOptions,
): Promise<ServerCreate> {
  if (template === undefined)
    throw new Refusal(
      'It is not said which system the server gets.',
      'Say it with --template; see those that are with: berth template list',
    )
  const { template_id } = await find(session.berth, 'template', template)
  return { ...(await requestOf(session, options)), name, template_id }
}

/** The same without what a price does not depend on: neither a name nor, unless it is said, a template. */
export async function requestOf(
  { berth, terminal }: Session,
  { template, zone, cpuType, sshKey = [], project, ...options }: OrderOptions,
): Promise<QuoteRequest> {
  const place = await placeOf(berth, { zone, cpuType })
  return {
    ...place,
    template_id: template === undefined ? undefined : (await find(berth, 'template', template)).template_id,
    ssh_key_ids: await Promise.all(sshKey.map((key) => idOf(berth, 'ssh-key', key))),
    project_id: project === undefined ? undefined : await idOf(berth, 'project', project),
    labels: options.label,
    user_data: await userDataOf(terminal, options.userDataFile),
    description: options.description,
    start_on_create: options.start,
    delete_protection: options.deleteProtection,
    ...(await planOf(berth, place, options)),
  }
}

type Place = Pick<QuoteRequest, 'zone_slug' | 'cpu_type'>
type Plan = Pick<QuoteRequest, 'plan_type' | 'preset_id' | 'cpu' | 'ram_mb' | 'disk_gb'>

async function planOf(
  berth: Berth,
  place: Place,
  { preset, cpu, ramMb: ram_mb, diskGb: disk_gb }: Pick<OrderOptions, 'preset' | 'cpu' | 'ramMb' | 'diskGb'>,
): Promise<Plan> {
  const size = { cpu, ram_mb, disk_gb }
  if (preset === undefined) {
    if ([cpu, ram_mb, disk_gb].includes(undefined))
      throw new Refusal(
        'It is not said how large the server is.',
        'Say --preset, or all of --cpu, --ram-mb and --disk-gb; see what there is with: berth preset list',
      )
    return { plan_type: 'custom', ...size }
  }
  // Both at once is refused by the API, which says it best.
  return { plan_type: 'preset', preset_id: (await findPreset(berth, place, preset)).preset_id, ...size }
}

/** The preset of a place by its slug or id. @throws Refusal where there is none */
export async function findPreset(berth: Berth, place: Place, given: string): Promise<Preset> {
  const { zone_slug, cpu_type } = place
  const presets = await berth.presets.list({ zone_slug, cpu_type })
  const preset = presets.find(({ slug, preset_id }) => slug === given || preset_id === given)
  if (preset) return preset
  throw new Refusal(
    `There is no preset ${given} in ${zone_slug}.`,
    `There are: ${presets.map(({ slug }) => slug).join(', ')}.`,
    exitCodes.notFound,
  )
}

async function userDataOf(terminal: Terminal, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  if (file === '-') return readAll(terminal.stdin)
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new Refusal(`${file} can't be read.`, 'Name a file that is there, or - for what is piped in.')
  }
}
