import Type, { type Static } from 'typebox'
import { cpuTypes, features } from '../drivers/driver.ts'
import { serverKinds } from '../drivers/module.ts'
import { HourPrice, MonthPrice, money, nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const CpuTypeName = Type.Enum([...cpuTypes], {
  description: 'Processor vendor; a zone may have both, at different prices',
})

const FeatureName = Type.Enum([...features], {
  description:
    'A feature of a zone: `public_ipv4` and `public_ipv6`, public addresses of servers; `published_ports`, ports of the host that lead to a server; `private_networks`, networks between servers; `firewalls`, rules for connections; `console`, a serial console; `snapshots`, copies of disks; `backups`, one of them every day; `images`, images of your own; `reset_password`, a new password for a running server; `rescue`, a rescue system beside the disk; `live_resize`, a disk that grows while the server runs; `screen`, the screen in a browser; `volumes`, disks that can be moved between servers',
})

export const ZoneSlug = Type.String({
  maxLength: 64,
  description: 'Name of a zone, as `GET /zones` lists them',
  examples: ['local-1'],
})

const sizeOf = (cpu: number, ramMb: number, diskGb: number) => ({
  cpu: Type.Integer({ description: 'Cores', examples: [cpu] }),
  ram_mb: Type.Integer({ description: 'Memory in MB', examples: [ramMb] }),
  disk_gb: Type.Integer({ description: 'Disk in GB', examples: [diskGb] }),
})
export const size = sizeOf(1, 512, 10)

/** A plan's network: traffic and bandwidth. */
export const traffic = {
  traffic_gb: Type.Integer({
    description:
      'GB (1,000,000,000 bytes) that may be sent to the internet in a calendar month (UTC) for the price; incoming traffic is free',
    examples: [1000],
  }),
  traffic_tb_rub: money('Price of each further TB (1,000 GB); 0.00 if it is free', '120.00'),
  bandwidth_mbit: nullable(Type.Integer({ examples: [500] }), {
    description: 'Bandwidth in each direction in Mbit/s; null: not limited',
  }),
}

export const catalogProblems = defineProblems({
  capacity_unavailable: {
    status: 409,
    title: 'Not enough capacity for this plan',
    members: {
      max_server: Type.Object(sizeOf(2, 4096, 40), { description: 'The largest server that fits now' }),
      alternatives: Type.Array(Type.Object({ zone_slug: ZoneSlug, cpu_type: CpuTypeName }), {
        description: 'Zones and CPU types in which the plan fits now',
      }),
    },
  },
  not_supported: {
    status: 409,
    title: 'The zone does not support this',
    members: { feature: FeatureName },
  },
})

export const TemplateId = uuid(
  '9ef5d402-7877-5f38-9a75-eb3232b25976',
  'Id of a template: the operating system that the server is created from',
  'GET /templates',
)
export const PresetId = uuid(
  'b9c43e68-d1e3-58c7-a042-2cef0167acdb',
  'Id of a preset: a size on offer, in every zone',
  'GET /pricing/presets',
)
/** Names that requests take in place of the ids. */
export const TemplateSlug = Type.String({
  maxLength: 64,
  description: 'Slug of the template, such as `debian-12`, in place of `template_id`',
  examples: ['debian-12'],
})
export const PresetSlug = Type.String({
  maxLength: 64,
  description: 'Slug of the preset, such as `nano`, in place of `preset_id`',
  examples: ['nano'],
})

export const Zone = Type.Object(
  {
    zone_slug: ZoneSlug,
    title: Type.String({ description: 'Title to show to people', examples: ['This machine'] }),
    city: Type.String({ description: 'City of the zone', examples: ['Local'] }),
    country_code: Type.String({
      description: 'Country of the zone (ISO 3166-1 alpha-2); ZZ if the operator has not set it',
      examples: ['ZZ'],
    }),
    cpu_types: Type.Array(CpuTypeName, { description: 'CPU types on offer in the zone' }),
    server_type: Type.Enum([...serverKinds], {
      description:
        'Kind of its servers: a `container` shares the kernel of its host, a `virtual_machine` has its own',
      examples: ['virtual_machine'],
    }),
    features: Type.Array(FeatureName, {
      description: 'Features of its servers; using any other returns 409 `not_supported`',
    }),
    volume_gb_month_rub: nullable(money('Price of a GB of a volume per month of 730 hours', '6.00'), {
      description: 'Price of a GB of a volume per month of 730 hours; null if the zone has no volumes',
    }),
    is_available: Type.Boolean({ description: 'Whether a server can be created here now' }),
  },
  { title: 'Zone', description: 'A location in which servers can be created' },
)
export type Zone = Static<typeof Zone>

export const Template = Type.Object(
  {
    template_id: TemplateId,
    slug: Type.String({ description: 'Short name; unique', examples: ['debian-12'] }),
    title: Type.String({ description: 'Title to show to people', examples: ['Debian 12 (bookworm)'] }),
    os_family: Type.String({ description: 'Family of the operating system', examples: ['debian'] }),
    min_disk_gb: Type.Integer({
      description: 'Smallest disk in GB for this template',
      examples: [5],
    }),
    default_username: Type.String({ description: 'User name for SSH', examples: ['debian'] }),
  },
  { title: 'Template', description: 'An operating system on offer' },
)
export type Template = Static<typeof Template>

export const Preset = Type.Object(
  {
    preset_id: PresetId,
    slug: Type.String({ description: 'Short name; unique', examples: ['nano'] }),
    ...size,
    price_month_rub: MonthPrice,
    price_hour_rub: HourPrice,
    ...traffic,
    is_available: Type.Boolean({ description: 'Whether such a server can be created now' }),
  },
  { title: 'Preset', description: 'A size on offer, with its price in the requested zone' },
)
export type Preset = Static<typeof Preset>

export const Capacity = Type.Object(
  {
    zone_slug: ZoneSlug,
    cpu_type: CpuTypeName,
    is_available: Type.Boolean({ description: 'Whether a server can be created now' }),
    level: Type.Enum(['high', 'low', 'none'], { description: 'Free capacity' }),
    max_server: Type.Object(size, { description: 'The largest server that fits now' }),
    updated_at: timestamp('When it was determined'),
  },
  { title: 'Capacity', description: 'Free capacity of a zone for one of its CPU types' },
)
export type Capacity = Static<typeof Capacity>

export const ZoneAndCpu = Type.Object({
  zone_slug: ZoneSlug,
  cpu_type: CpuTypeName,
})

const range = (description: string, min: number, max: number, step: number) =>
  Type.Object(
    {
      min: Type.Integer({ description: 'Smallest value', examples: [min] }),
      max: Type.Integer({ description: 'Largest value', examples: [max] }),
      step: Type.Integer({
        description: 'All values but `min` are multiples of this',
        examples: [step],
      }),
    },
    { description },
  )

export const Limits = Type.Object(
  {
    zone_slug: ZoneSlug,
    cpu_type: CpuTypeName,
    cpu: range('Cores', 1, 32, 1),
    ram_mb: range('Memory in MB', 256, 131_072, 256),
    disk_gb: range('Disk in GB', 5, 500, 5),
    unit_prices: Type.Object(
      {
        cpu_month_rub: money('Price of a core per month', '180.00'),
        ram_gb_month_rub: money('Price of a GB of memory per month', '120.00'),
        disk_gb_month_rub: money('Price of a GB of disk per month', '6.00'),
      },
      { description: 'Prices of the parts of a custom plan' },
    ),
    snapshot_gb_month_rub: money('Price of a GB of a snapshot or an image per month', '3.00'),
    backups_percent: Type.Integer({
      description: 'Price of the daily backups of a server, in percent of its own',
      examples: [20],
    }),
    ...traffic,
  },
  { title: 'Limits', description: 'Sizes and prices of custom plans in a zone' },
)
export type Limits = Static<typeof Limits>

export const CapacityFilter = Type.Object({
  zone_slug: Type.Optional(ZoneSlug),
  cpu_type: Type.Optional(CpuTypeName),
})

/** The currency beside rubles, where customers see sums. */
export const secondCurrency = nullable(
  Type.Object(
    {
      code: Type.String({ description: 'The currency (ISO 4217)', examples: ['EUR'] }),
      decimals: Type.Integer({ description: 'Digits after the point of its sums', examples: [2] }),
      rubles: Type.String({
        description: "The price of one unit in rubles, at the operator's rate; up to six decimals",
        examples: ['98.50'],
      }),
    },
    { title: 'SecondCurrency', description: 'A currency beside rubles' },
  ),
  {
    description:
      'A currency in which the operator shows sums beside rubles; null if there is none. Such sums are approximate: balance, prices and documents are in rubles',
    examples: [null],
  },
)
export type SecondCurrencyShown = Static<typeof secondCurrency>
