import type { Capacity, Limits, Preset, Template, Zone } from '@berth/sdk'
import { Command } from 'commander'
import { idOf } from './find.ts'
import type { Columns } from './output.ts'
import { addPlaceOptions, type PlaceOptions, placeOf } from './place.ts'
import { action, listCommand } from './session.ts'

const zoneColumns: Columns<Zone> = {
  id: ({ zone_slug }) => zone_slug,
  title: ({ title }) => title,
  city: ({ city }) => city,
  country: ({ country_code }) => country_code,
  cpu_types: ({ cpu_types }) => cpu_types.join(','),
  available: ({ is_available }) => is_available,
}

export function zoneCommand(): Command {
  return new Command('zone').description('where servers can be').addCommand(
    listCommand({
      description: 'all zones',
      columns: zoneColumns,
      shown: Object.keys(zoneColumns),
      items: ({ berth }) => berth.zones.list(),
    }),
  )
}

const templateColumns: Columns<Template> = {
  id: ({ template_id }) => template_id,
  name: ({ slug }) => slug,
  title: ({ title }) => title,
  family: ({ os_family }) => os_family,
  min_disk_gb: ({ min_disk_gb }) => min_disk_gb,
  user: ({ default_username }) => default_username,
}

export function templateCommand(): Command {
  return new Command('template').description('operating systems that servers are made from').addCommand(
    listCommand({
      description: 'all templates',
      columns: templateColumns,
      shown: Object.keys(templateColumns),
      items: ({ berth }) => berth.templates.list(),
    }),
  )
}

const presetColumns: Columns<Preset> = {
  id: ({ preset_id }) => preset_id,
  name: ({ slug }) => slug,
  cpu: ({ cpu }) => cpu,
  ram_mb: ({ ram_mb }) => ram_mb,
  disk_gb: ({ disk_gb }) => disk_gb,
  month: ({ price_month_rub }) => price_month_rub,
  hour: ({ price_hour_rub }) => price_hour_rub,
  available: ({ is_available }) => is_available,
}

export function presetCommand(): Command {
  return new Command('preset').description('sizes that servers come in').addCommand(
    addPlaceOptions(
      listCommand({
        description: 'all presets, with their prices in rubles',
        columns: presetColumns,
        shown: Object.keys(presetColumns),
        items: async ({ berth }, options: PlaceOptions) => berth.presets.list(await placeOf(berth, options)),
      }),
    ),
  )
}

const range = (name: 'cpu' | 'ram_mb' | 'disk_gb') => (limits: Limits) => {
  const { min, max, step } = limits[name]
  return `${min} to ${max}, in steps of ${step}`
}

export function limitsCommand(): Command {
  return addPlaceOptions(
    new Command('limits').description('sizes that a server of your own measure can have, and their prices'),
  ).action(
    action(async ({ berth, show }, options: PlaceOptions) => {
      await show(await berth.limits.get(await placeOf(berth, options)), {
        Zone: ({ zone_slug }) => zone_slug,
        'CPU type': ({ cpu_type }) => cpu_type,
        CPU: range('cpu'),
        'RAM MB': range('ram_mb'),
        'Disk GB': range('disk_gb'),
        'A CPU a month': ({ unit_prices }) => unit_prices.cpu_month_rub,
        'A GB of RAM a month': ({ unit_prices }) => unit_prices.ram_gb_month_rub,
        'A GB of disk a month': ({ unit_prices }) => unit_prices.disk_gb_month_rub,
      })
    }),
  )
}

const capacityColumns: Columns<Capacity> = {
  zone: ({ zone_slug }) => zone_slug,
  cpu_type: ({ cpu_type }) => cpu_type,
  level: ({ level }) => level,
  max_cpu: ({ max_server }) => max_server.cpu,
  max_ram_mb: ({ max_server }) => max_server.ram_mb,
  max_disk_gb: ({ max_server }) => max_server.disk_gb,
  updated: ({ updated_at }) => updated_at,
}

export function capacityCommand(): Command {
  return listCommand({
    name: 'capacity',
    description: 'the largest server that there is room for, by zone and type of CPU',
    columns: capacityColumns,
    shown: ['zone', 'cpu_type', 'level', 'max_cpu', 'max_ram_mb', 'max_disk_gb'],
    items: async ({ berth }, { zone }: { zone?: string }) =>
      berth.capacity.list({ zone_slug: zone === undefined ? undefined : await idOf(berth, 'zone', zone) }),
  }).option('--zone <zone>', 'only in this zone')
}
