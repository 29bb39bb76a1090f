import { randomInt } from 'node:crypto'
import type {
  Capacity,
  Limits,
  Preset,
  Quote,
  ServerCreate,
  SshKey,
  SshKeyCreate,
  Template,
} from '@berth/sdk'
import { allOf } from '../all.ts'
import { ask } from '../ask.ts'
import { exitCodes, Refusal } from '../errors.ts'
import { printable, showList } from '../output.ts'
import type { Session } from '../session.ts'
import { rub } from '../units.ts'
import { localKeys } from './public-keys.ts'

type Place = Pick<Capacity, 'zone_slug' | 'cpu_type'>
type Plan = Pick<ServerCreate, 'plan_type' | 'preset_id' | 'cpu' | 'ram_mb' | 'disk_gb'>

const instead = 'Describe the server with options: berth server create --help'

/**
 * Prompts for a server step by step, then shows its price and asks for confirmation.
 * Nothing changes before that. Then the chosen local SSH keys are added to the account.
 */
export async function askForOrder(session: Session, name: string | undefined): Promise<ServerCreate> {
  const place = await askPlace(session)
  const template = await askTemplate(session)
  const plan = await askPlan(session, place, template)
  const { ssh_key_ids, added } = await askKeys(session)
  const order = {
    ...place,
    ...plan,
    template_id: template.template_id,
    ssh_key_ids,
    name: name ?? (await askName(session, template)),
  }
  await confirmOrder(session, order)
  const keys = await Promise.all(added.map((key) => session.berth.sshKeys.create(key)))
  return { ...order, ssh_key_ids: [...ssh_key_ids, ...keys.map(({ ssh_key_id }) => ssh_key_id)] }
}

interface Choice<Value> {
  name: string
  /** Shown once it is chosen (default: `name`). */
  short?: string
  value: Value
  /** The reason it can't be chosen. */
  disabled?: string | false
}

/** Asks for one of several; those that can't be chosen show the reason. @throws Refusal if none can be chosen */
async function askOne<Value>(
  { terminal }: Session,
  message: string,
  choices: Choice<Value>[],
): Promise<Value> {
  const open = choices.find(({ disabled }) => !disabled)
  if (!open)
    throw new Refusal(
      `${message.replace(/:$/, '')}: none available.`,
      'Try again later, or contact the operator.',
      exitCodes.error,
    )
  return ask(terminal, instead, ({ select }, at) =>
    select({ message, choices, default: open.value, loop: false, pageSize: 12 }, at),
  )
}

async function askPlace(session: Session): Promise<Place> {
  const [zones, rows] = await Promise.all([session.berth.zones.list(), session.berth.capacity.list()])
  const titleOf = ({ zone_slug }: Place) => zones.find((zone) => zone.zone_slug === zone_slug)?.title ?? ''
  const choices = rows.map((row) => ({
    name: printable(`${row.zone_slug}, ${row.cpu_type}: ${titleOf(row)}`),
    value: { zone_slug: row.zone_slug, cpu_type: row.cpu_type },
    disabled: !row.is_available && '(full)',
  }))
  return askOne(session, 'Zone:', choices)
}

async function askTemplate(session: Session): Promise<Template> {
  const templates = await session.berth.templates.list()
  return askOne(
    session,
    'Image:',
    templates.map((template) => ({
      // The title first: a preset may have the same slug.
      name: printable(`${template.title} (${template.slug})`),
      short: printable(template.title),
      value: template,
    })),
  )
}

async function askPlan(session: Session, place: Place, template: Template): Promise<Plan> {
  const { berth } = session
  const presets = await berth.presets.list(place)
  const custom: Choice<Preset | null> = {
    name: 'custom: choose cores, memory and disk',
    short: 'custom',
    value: null,
  }
  const widest = (text: (preset: Preset) => string) =>
    Math.max(...presets.map((preset) => text(preset).length))
  const [slug, size, price] = [
    widest(({ slug }) => slug),
    widest(sizeOf),
    widest(({ price_month_rub }) => price_month_rub),
  ]
  const preset = await askOne(session, 'Plan:', [
    ...presets.map((preset) => ({
      name: printable(
        `${preset.slug.padEnd(slug)}  ${sizeOf(preset).padEnd(size)}  ${rub(preset.price_month_rub.padStart(price))} a month`,
      ),
      short: printable(`${preset.slug}, ${rub(preset.price_month_rub)} a month`),
      value: preset,
      disabled: whyNot(preset, template),
    })),
    custom,
  ])
  if (preset) return { plan_type: 'preset', preset_id: preset.preset_id }
  return { plan_type: 'custom', ...(await askSize(session, await berth.limits.get(place), template)) }
}

const sizeOf = ({ cpu, ram_mb, disk_gb }: Preset) => `${cpu} CPU, ${ram_mb} MB, ${disk_gb} GB`

function whyNot({ is_available, disk_gb }: Preset, { title, min_disk_gb }: Template): string | false {
  if (!is_available) return '(no capacity)'
  return disk_gb < min_disk_gb && `(${printable(title)} needs ${min_disk_gb} GB of disk)`
}

async function askSize(session: Session, limits: Limits, { min_disk_gb }: Template) {
  const { min, max, step } = limits.disk_gb
  const smallest = min_disk_gb <= min ? min : Math.ceil(min_disk_gb / step) * step
  return {
    cpu: await askNumber(session, 'Cores:', limits.cpu),
    ram_mb: await askNumber(session, 'Memory in MB:', limits.ram_mb),
    disk_gb: await askNumber(session, 'Disk in GB:', { min: smallest, max, step }),
  }
}

/** Asks for a number within the API's limits: the minimum, or a multiple of the step. */
function askNumber({ terminal }: Session, label: string, { min, max, step }: Limits['cpu']): Promise<number> {
  const steps = step === 1 ? '' : `, in steps of ${step}`
  const message = `${label.replace(/:$/, '')} (${min} to ${max}${steps}):`
  const validate = (value: number) => value === min || value % step === 0 || `Must be a multiple of ${step}.`
  return ask(terminal, instead, ({ number }, at) =>
    number({ message, min, max, step: 'any', default: min, required: true, validate }, at),
  )
}

async function askKeys(session: Session): Promise<{ ssh_key_ids: string[]; added: SshKeyCreate[] }> {
  const keys = await allOf(session.berth.sshKeys.listAll())
  if (keys.length === 0) return { ssh_key_ids: [], added: await askLocalKeys(session) }
  return { ssh_key_ids: await askWhichKeys(session, keys), added: [] }
}

/** Asks which of the account's keys to log in with. @returns their ids */
export async function askWhichKeys({ terminal }: Session, keys: SshKey[]): Promise<string[]> {
  const choices = keys.map(({ ssh_key_id, name, fingerprint }) => ({
    name: printable(`${name} ${fingerprint}`),
    short: printable(name),
    value: ssh_key_id,
    // Enter must not make a server without a key.
    checked: true,
  }))
  const message = 'SSH keys to log in with (none: a password is generated):'
  return ask(terminal, instead, ({ checkbox }, at) => checkbox({ message, choices, loop: false }, at))
}

/** Asks which local keys to add to an account that has none. */
async function askLocalKeys({ terminal, note }: Session): Promise<SshKeyCreate[]> {
  const keys = localKeys()
  if (keys.length === 0) {
    note('No SSH keys in your account or in ~/.ssh: the server gets a generated password.')
    return []
  }
  const choices = keys.map(({ file, name, public_key, fingerprint }, at) => ({
    name: printable(`${file} ${fingerprint} ${name}`),
    short: file,
    value: { name, public_key },
    checked: at === 0,
  }))
  const message = 'Your account has no SSH keys. Public keys to add and log in with:'
  return ask(terminal, instead, ({ checkbox }, at) => checkbox({ message, choices, loop: false }, at))
}

async function askName({ berth, terminal }: Session, { slug }: Template): Promise<string> {
  const generated = `${slug.replace(/[^a-z0-9]+/gi, '-').slice(0, 50)}-${randomInt(100, 1000)}`
  const validate = async (name: string) => {
    if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(name))
      return 'Use up to 63 letters, digits and hyphens, with no hyphen at either end.'
    const { total } = await berth.servers.list({ name, limit: 1 })
    return total === 0 || 'You already have a server with this name.'
  }
  return ask(terminal, instead, ({ input }, at) =>
    input({ message: 'Name:', default: generated, validate }, at),
  )
}

/** Shows the price and asks for confirmation. @throws Refusal if it can't be created, or was declined */
async function confirmOrder(session: Session, order: ServerCreate): Promise<void> {
  const quote = await session.berth.quote(order)
  await showQuote(session, quote)
  const [blocker] = quote.blockers
  if (blocker)
    throw new Refusal(
      quote.blockers.map(({ code, detail }) => `${detail} (${code})`).join(' '),
      'Nothing was created.',
      exitCodes.error,
    )
  const isConfirmed = await ask(session.terminal, instead, ({ confirm }, at) =>
    confirm({ message: 'Create this server?', default: true }, at),
  )
  if (!isConfirmed) throw new Refusal('Canceled.', 'Nothing was created.', exitCodes.error)
}

/** Goes to stderr like the prompts: the output of the command is the server. */
async function showQuote({ terminal, note }: Session, quote: Quote): Promise<void> {
  const columns = {
    item: ({ code }: Quote['items'][number]) => code,
    quantity: ({ quantity, unit }: Quote['items'][number]) => `${quantity} ${unit}`,
    each: ({ price_unit_month_rub }: Quote['items'][number]) => rub(price_unit_month_rub),
    month: ({ price_month_rub }: Quote['items'][number]) => rub(price_month_rub),
  }
  note('')
  await showList(terminal.stderr, 'table', quote.items, columns, { columns: Object.keys(columns) })
  note('')
  note(`${rub(quote.price_month_rub)} a month, ${rub(quote.price_hour_rub)} an hour.`)
}
