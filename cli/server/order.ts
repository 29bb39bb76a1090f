import { readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import type { QuoteRequest, ServerCreate } from '@berth/sdk'
import type { Command } from 'commander'
import { Refusal } from '../errors.ts'
import { idOf, UUID } from '../find.ts'
import { firewallKind } from '../firewall.ts'
import { repeated, wholeNumber } from '../flags.ts'
import { addLabel, type Labels } from '../labels.ts'
import { networkKind } from '../network.ts'
import { addPlaceOptions, type PlaceOptions, placeOf } from '../place.ts'
import { projectKind } from '../project.ts'
import type { Session } from '../session.ts'
import { sshKeyKind } from '../ssh-key.ts'
import type { Terminal } from '../terminal.ts'
import { imageKind } from './image-kind.ts'
import { type Port, portOf } from './ports.ts'
import { copyKind } from './snapshot-kind.ts'

export interface OrderOptions extends PlaceOptions {
  template?: string
  snapshot?: string
  image?: string
  preset?: string
  cpu?: number
  ramMb?: number
  diskGb?: number
  /** False with --no-ssh-key. */
  sshKey?: string[] | false
  project?: string
  label?: Labels
  userDataFile?: string
  description?: string
  /** False with --no-start. */
  start: boolean
  deleteProtection?: boolean
  publish?: Port[]
  /** False with --no-ipv4 and --no-ipv6 (default: the features of the zone). */
  ipv4: boolean
  ipv6: boolean
  network?: string[]
  firewall?: string[]
  backups?: boolean
  backupWindow?: number
}

/** Collects --publish, which may be repeated. @throws InvalidArgumentError */
const addPort = (text: string, before: Port[] = []): Port[] => [...before, portOf(text)]

/** Adds the options that describe a new server. */
export function addOrderOptions(command: Command): Command {
  command
    .option('--template <template>', 'operating system template')
    .option('--snapshot <snapshot>', 'snapshot or backup to create it from instead, by name or id')
    .option('--image <image>', 'image of your own to create it from instead, by name or id')
    .option('--preset <preset>', 'size on offer; or set all of --cpu, --ram-mb and --disk-gb')
    .option('--cpu <cores>', 'number of CPU cores', wholeNumber)
    .option('--ram-mb <mb>', 'memory in MB', wholeNumber)
    .option('--disk-gb <gb>', 'disk in GB', wholeNumber)
  return addPlaceOptions(command)
    .option(
      '--ssh-key <ssh-key>',
      'SSH key to log in with, by name or id (repeatable; default: the only one of your account)',
      (key: string, before?: string[] | false) => repeated(key, before || []),
    )
    .option('--no-ssh-key', 'log in with a generated password')
    .option('--project <project>', 'project, by name or id (default: your default project)')
    .option('--label <name=value>', 'label (repeatable)', addLabel)
    .option('--user-data-file <file>', 'cloud-init user data for the first boot; - reads stdin')
    .option('--description <text>', 'description')
    .option('--publish <port>', 'port to publish, such as 80 or 53/udp (repeatable)', addPort)
    .option('--no-ipv4', 'without a public IPv4 address')
    .option('--no-ipv6', 'without a public IPv6 address')
    .option('--network <network>', 'private network to attach it to, by name or id (repeatable)', repeated)
    .option('--firewall <firewall>', 'firewall to attach, by name or id (repeatable)', repeated)
    .option('--backups', 'back it up every day')
    .option('--backup-window <hour>', 'hour of the day (UTC) of the backups', wholeNumber)
    .option('--no-start', 'create it without starting it')
    .option('--delete-protection', 'protect it from deletion')
}

/** True if an option describes the server: then there are no prompts. */
export function hasOrderOptions({ start, ipv4, ipv6, ...others }: OrderOptions): boolean {
  return !start || !ipv4 || !ipv6 || Object.values(others).some((value) => value !== undefined)
}

/** Resolves names to ids. @throws Refusal if one does not exist, or there is no template */
export async function orderOf(
  session: Session,
  name: string | undefined,
  options: OrderOptions,
): Promise<ServerCreate> {
  requireSource(options)
  return { ...(await requestOf(session, options)), name }
}

/** The options that name the system of a new disk. */
export interface SourceOptions {
  template?: string | undefined
  snapshot?: string | undefined
  image?: string | undefined
}

/** @throws Refusal if the options name no system */
export function requireSource({ template, snapshot, image }: SourceOptions): void {
  if ((template ?? snapshot ?? image) !== undefined) return
  throw new Refusal(
    'No template given.',
    'Set --template, --snapshot or --image; list templates with: berth template list',
  )
}

/** The same for a quote, which needs no name and no template. */
export async function requestOf(
  { berth, terminal }: Session,
  { template, snapshot, image, zone, cpuType, sshKey, project, ...options }: OrderOptions,
): Promise<QuoteRequest> {
  const place = await placeOf(berth, { zone, cpuType })
  return {
    ...place,
    ...(await sourceOf(berth, { template, snapshot, image })),
    ssh_key_ids: await Promise.all((sshKey || []).map((key) => idOf(berth, sshKeyKind, key))),
    project_id: project === undefined ? undefined : await idOf(berth, projectKind, project),
    labels: options.label,
    user_data: await userDataOf(terminal, options.userDataFile),
    description: options.description,
    start_on_create: options.start,
    delete_protection: options.deleteProtection,
    backups_enabled: options.backups,
    backup_window: options.backupWindow,
    published_ports: options.publish,
    enable_ipv4: options.ipv4 ? undefined : false,
    enable_ipv6: options.ipv6 ? undefined : false,
    network_ids:
      options.network && (await Promise.all(options.network.map((given) => idOf(berth, networkKind, given)))),
    firewall_ids:
      options.firewall &&
      (await Promise.all(options.firewall.map((given) => idOf(berth, firewallKind, given)))),
    ...planOf(options),
  }
}

/** The template as given, by id or slug, and the ids of the snapshot and the image. */
export async function sourceOf(
  berth: Session['berth'],
  { template, snapshot, image }: SourceOptions,
): Promise<Pick<QuoteRequest, 'template_id' | 'template' | 'snapshot_id' | 'image_id'>> {
  const copy = {
    ...(snapshot === undefined ? {} : { snapshot_id: await idOf(berth, copyKind, snapshot) }),
    ...(image === undefined ? {} : { image_id: await idOf(berth, imageKind, image) }),
  }
  if (template === undefined) return copy
  return UUID.test(template) ? { template_id: template, ...copy } : { template, ...copy }
}

type Plan = Pick<QuoteRequest, 'plan_type' | 'preset_id' | 'preset' | 'cpu' | 'ram_mb' | 'disk_gb'>
type Size = Pick<OrderOptions, 'preset' | 'cpu' | 'ramMb' | 'diskGb'>

function planOf(size: Size): Plan {
  if (size.preset === undefined && [size.cpu, size.ramMb, size.diskGb].includes(undefined))
    throw new Refusal(
      'No size given.',
      'Set --preset, or all of --cpu, --ram-mb and --disk-gb; list presets with: berth preset list',
    )
  return sizeOf(size)
}

/** The size as given; the API refuses a preset together with other sizes. */
export function sizeOf({ preset, cpu, ramMb: ram_mb, diskGb: disk_gb }: Size): Plan {
  const size = { cpu, ram_mb, disk_gb }
  if (preset === undefined) return { plan_type: 'custom', ...size }
  return { plan_type: 'preset', ...(UUID.test(preset) ? { preset_id: preset } : { preset }), ...size }
}

/** Reads a file of user data; - is stdin. @throws Refusal if it can't be read */
export async function userDataOf(terminal: Terminal, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  if (file === '-') return readAll(terminal.stdin)
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new Refusal(`${file} can't be read.`, 'Pass an existing file, or - to read stdin.')
  }
}
