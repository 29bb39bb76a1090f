import Type, { type Static } from 'typebox'
import { PROJECT, SshKeyId } from '../accounts/schema.ts'
import { CpuTypeName, PresetId, PresetSlug, TemplateId, TemplateSlug, ZoneSlug } from '../catalog/schema.ts'
import { MOST_CARDS } from '../drivers/driver.ts'
import { FirewallIds } from '../firewalls/schema.ts'
import { NewLabels, nullable, uuid } from '../http/contract/fields.ts'
import { NetworkId } from '../networks/schema.ts'
import { PublishedPorts } from '../ports/schema.ts'
import { ImageId } from '../snapshots/image-schema.ts'
import { IsoId } from '../snapshots/iso-schema.ts'
import { SnapshotId } from '../snapshots/schema.ts'
import { PLAN_TYPE, PlanType } from './schema.ts'

const Name = Type.String({
  description:
    'Name and host name, 1 to 63 letters, digits and dashes, without a dash at either end; need not be unique. Default: a generated one',
  minLength: 1,
  maxLength: 63,
  pattern: '^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$',
  examples: ['web-1'],
  errorMessage: 'must be a host name: letters, digits and dashes, without a dash at either end.',
})
const Description = nullable(Type.String({ maxLength: 255, examples: ['The shop'] }), {
  description: 'Text of your choice, up to 255 characters; null for none',
})
const customSize = {
  cpu: Type.Integer({
    minimum: 1,
    description: 'Cores of a custom plan; for the range see `GET /pricing/limits`',
    examples: [2],
  }),
  ram_mb: Type.Integer({ minimum: 1, description: 'Memory in MB of a custom plan', examples: [2048] }),
  disk_gb: Type.Integer({
    minimum: 1,
    description: 'Disk in GB of a custom plan; can grow later, not shrink',
    examples: [20],
  }),
}
const preset = { preset_id: Type.Optional(PresetId), preset: Type.Optional(PresetSlug) }
/** A template, named by its id or its slug, a snapshot or an image, with `templateRules`. */
export const template = {
  template_id: Type.Optional(TemplateId),
  template: Type.Optional(TemplateSlug),
  snapshot_id: Type.Optional({
    ...SnapshotId,
    description:
      'An available snapshot or backup of the same zone, in place of a template (see `GET /snapshots` and `GET /backups`)',
  }),
  image_id: Type.Optional({
    ...ImageId,
    description: 'An available image of the same zone, in place of a template (see `GET /images`)',
  }),
}
const plan = {
  ...preset,
  cpu: Type.Optional(customSize.cpu),
  ram_mb: Type.Optional(customSize.ram_mb),
  disk_gb: Type.Optional(customSize.disk_gb),
}
const SIZE = ['cpu', 'ram_mb', 'disk_gb']
const PRESET = ['preset_id', 'preset']
/**
 * Returns one rule of a schema: required fields, and rules of fields; other fields are not affected. Client
 * generators fail on `true` in place of an empty schema.
 */
const fields = (required: readonly string[], rules: object = {}) => ({
  required,
  properties: { ...Object.fromEntries(required.map((name) => [name, {}])), ...rules },
  additionalProperties: true,
})
const isPlan = (value: string) => fields(['plan_type'], { plan_type: { const: value } })
/** Forbids fields that cannot be combined with another field. */
const without = (names: readonly string[], other: string) => {
  const never = { not: {}, errorMessage: `cannot be combined with ${other}.` }
  return fields([], Object.fromEntries(names.map((name) => [name, never])))
}
/** JSON Schema's conditional: the consequence applies where the condition holds. */
// biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema; nobody awaits a schema
const when = (condition: object, consequence: object) => ({ if: condition, then: consequence })

/** An offer is named by its id or by its slug. */
const notBoth = (id: string, slug: string) => when(fields([slug]), without([id], slug))
const either = (id: string, slug: string) =>
  when({ not: fields([slug]) }, { ...fields([id]), errorMessage: `is required, or ${slug} instead.` })
/** Exactly one of two fields is required. */
export const oneOfTwo = (one: string, other: string) => [notBoth(one, other), either(one, other)]
const presetRules = [
  when(isPlan('preset'), either('preset_id', 'preset')),
  when(isPlan('preset'), without(SIZE, 'plan_type preset')),
  notBoth('preset_id', 'preset'),
]
const sourceRules = [
  notBoth('template_id', 'template'),
  when(fields(['snapshot_id']), without(['template_id', 'template'], 'snapshot_id')),
  when(fields(['image_id']), without(['template_id', 'template', 'snapshot_id'], 'image_id')),
]
const needsSource = when(
  { not: { anyOf: ['template', 'snapshot_id', 'image_id'].map((name) => fields([name])) } },
  { ...fields(['template_id']), errorMessage: 'is required, or template, snapshot_id or image_id instead.' },
)
const planRules = [
  ...presetRules,
  when(isPlan('custom'), fields(SIZE)),
  when(isPlan('custom'), without(PRESET, 'plan_type custom')),
  ...sourceRules,
]
/** Exactly one name of a template, a snapshot or an image is required. */
export const templateRules = [...sourceRules, needsSource]
const InProject = uuid(
  PROJECT,
  'Project to put it in. Default: the default project of the account',
  'GET /account/projects',
)
/** The fields that turn on daily backups and set their hour. */
const backups = {
  backups_enabled: Type.Optional(
    Type.Boolean({
      description:
        'Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest',
    }),
  ),
  backup_window: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 23,
      description:
        'Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night',
      examples: [3],
    }),
  ),
}

const order = {
  zone_slug: ZoneSlug,
  plan_type: PlanType,
  cpu_type: CpuTypeName,
  ...plan,
  ...template,
  name: Type.Optional(Name),
  project_id: Type.Optional(InProject),
  description: Type.Optional(Description),
  ssh_key_ids: Type.Optional(
    Type.Array(SshKeyId, {
      maxItems: 20,
      uniqueItems: true,
      description:
        'SSH keys that may log in; only a rebuild can change them. Default: none, and the server gets a password, which its details show',
    }),
  ),
  user_data: Type.Optional(
    nullable(Type.String({ maxLength: 65_536 }), {
      description: 'User data for cloud-init, up to 64 KiB; kept encrypted and never shown again',
    }),
  ),
  labels: Type.Optional(NewLabels),
  published_ports: Type.Optional(PublishedPorts),
  enable_ipv4: Type.Optional(
    Type.Boolean({
      description:
        'Whether it gets a public IPv4 address, at the price in the quote; deleted with the server unless it was moved. Default: if the zone has `public_ipv4`',
    }),
  ),
  enable_ipv6: Type.Optional(
    Type.Boolean({
      description: 'Whether it gets a public IPv6 /64. Default: if the zone has `public_ipv6`',
    }),
  ),
  network_ids: Type.Optional(
    Type.Array(NetworkId, {
      maxItems: MOST_CARDS,
      uniqueItems: true,
      description:
        'Private networks of the zone to attach the server to, at the first free address of each; their ranges must not overlap. Default: none',
    }),
  ),
  firewall_ids: Type.Optional(FirewallIds),
  start_on_create: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'Whether to start it; a server that is created stopped is billed as well',
    }),
  ),
  delete_protection: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether `DELETE` and a rebuild are refused until this is set to false',
    }),
  ),
  ...backups,
}

const orderExample = {
  zone_slug: 'local-1',
  plan_type: 'preset',
  cpu_type: 'amd',
  preset: 'nano',
  template: 'debian-12',
  name: 'web-1',
  ssh_key_ids: ['01a1fb45-1ab5-76a6-be1c-72070ab457ce'],
  user_data: '#cloud-config\npackages: [nginx]\n',
  labels: { env: 'prod' },
  published_ports: [{ protocol: 'tcp', port: 80 }],
}

const { preset: _, ...noPreset } = orderExample
const customExample = { ...noPreset, plan_type: 'custom', cpu: 2, ram_mb: 2048, disk_gb: 20 }

const isPreset = Type.Enum(['preset'], { description: PLAN_TYPE })
const isCustom = Type.Enum(['custom'], { description: PLAN_TYPE })

/**
 * The two kinds of orders for the API's description; the rules express the same, field by field. Only the rules require
 * one of id and slug, since each such choice would double the forms.
 */
const orderForms = (title: string, description: string) => {
  const { preset_id, preset: _slug, cpu, ram_mb, disk_gb, plan_type, ...rest } = order
  return {
    title,
    description,
    examples: [orderExample],
    discriminator: { propertyName: 'plan_type' },
    forms: [
      Type.Object(
        { plan_type: isPreset, ...preset, ...rest },
        {
          title: `${title}Preset`,
          description: `${description}, of the size of a preset`,
          examples: [orderExample],
        },
      ),
      Type.Object(
        { plan_type: isCustom, ...customSize, ...rest },
        {
          title: `${title}Custom`,
          description: `${description}, of a size of your choice`,
          examples: [customExample],
        },
      ),
    ],
  }
}

export const ServerCreate = Type.Object(order, {
  ...orderForms('ServerCreate', 'A server to create'),
  allOf: [...planRules, needsSource],
})
export type ServerCreate = Static<typeof ServerCreate>

/** The body of create, in which fields that do not affect the price are optional. */
export const QuoteRequest = Type.Object(order, {
  ...orderForms('QuoteRequest', 'A server to quote'),
  allOf: planRules,
})
export type QuoteRequest = Static<typeof QuoteRequest>

const metadata = {
  name: Type.Optional(Type.String({ ...Name, description: 'New name and host name' })),
  description: Type.Optional(Description),
  labels: Type.Optional(NewLabels),
  project_id: Type.Optional(
    uuid(PROJECT, 'Project to move it to; its charges go there from then on', 'GET /account/projects'),
  ),
  delete_protection: Type.Optional(
    Type.Boolean({ description: 'Whether `DELETE` and a rebuild are refused' }),
  ),
  iso_id: Type.Optional(
    nullable(IsoId, {
      description:
        'An available ISO of the same zone, or a `public` one, to put into its drive, from which its next start boots; null takes it out. Not with a change of plan',
    }),
  ),
  ...backups,
}
const updateExample = { name: 'web-2', labels: { env: 'test' } }
const { preset_id: _id, preset: _slug, ...optionalSize } = plan
const updatePreset = { ...metadata, plan_type: Type.Optional(isPreset) }

export const ServerUpdate = Type.Object(
  { ...metadata, plan_type: Type.Optional(PlanType), ...plan },
  {
    title: 'ServerUpdate',
    description: 'Fields to change; the others stay as they are',
    minProperties: 1,
    examples: [updateExample],
    allOf: [
      ...presetRules,
      when(isPlan('custom'), without(PRESET, 'plan_type custom')),
      ...PRESET.map((name) => when(fields([name]), without(SIZE, name))),
    ],
    forms: [
      Type.Object(
        { ...metadata, plan_type: Type.Optional(isCustom), ...optionalSize },
        {
          title: 'ServerUpdateCustom',
          description:
            'A change of the name and similar fields, or to a size of your choice; the other fields stay as they are',
          minProperties: 1,
          examples: [updateExample],
        },
      ),
      Type.Object(
        { ...updatePreset, preset_id: PresetId },
        {
          title: 'ServerUpdatePreset',
          description: 'A change to the size of a preset, by its id',
          examples: [{ preset_id: 'b9c43e68-d1e3-58c7-a042-2cef0167acdb' }],
        },
      ),
      Type.Object(
        { ...updatePreset, preset: PresetSlug },
        {
          title: 'ServerUpdatePresetSlug',
          description: 'A change to the size of a preset, by its slug',
          examples: [{ preset: orderExample.preset }],
        },
      ),
    ],
  },
)
export type ServerUpdate = Static<typeof ServerUpdate>
