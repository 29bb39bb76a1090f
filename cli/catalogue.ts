import type { Capacity, Limits, Preset, Template, Zone } from '@berth/sdk'
import { Command } from 'commander'
import { idOf, kind } from './find.ts'
import type { Columns } from './output.ts'
import { addPlaceOptions, type PlaceOptions, placeOf, zoneKind } from './place.ts'
import { action, listCommand } from './session.ts'
import { includedOf, rub, trafficParts } from './units.ts'

export const templateKind = kind({
  noun: 'template',
  all: (berth) => berth.templates.list(),
  id: ({ template_id }) => template_id,
  name: ({ slug }) => slug,
})

const zoneColumns: Columns<Zone> = {
  id: ({ zone_slug }) => zone_slug,
  title: ({ title }) => title,
  city: ({ city }) => city,
  country: ({ country_code }) => country_code,
  cpu_types: ({ cpu_types }) => cpu_types.join(','),
  features: ({ features }) => features.join(','),
  available: ({ is_available }) => is_available,
}

export function zoneCommand(): Command {
  return new Command('zone').description('view zones').addCommand(
    listCommand({
      description: 'list zones',
      columns: zoneColumns,
      shown: Object.keys(zoneColumns).filter((name) => name !== 'features'),
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
  return new Command('template').description('view operating system templates').addCommand(
    listCommand({
      description: 'list templates',
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
  month: ({ price_month_rub }) => rub(price_month_rub),
  hour: ({ price_hour_rub }) => rub(price_hour_rub),
  traffic: includedOf,
  traffic_tb: ({ traffic_tb_rub }) => rub(traffic_tb_rub),
  mbit: ({ bandwidth_mbit }) => bandwidth_mbit,
  available: ({ is_available }) => is_available,
}

export function presetCommand(): Command {
  return new Command('preset').description('view presets, the server sizes on offer').addCommand(
    addPlaceOptions(
      listCommand({
        description: 'list presets with their prices',
        columns: presetColumns,
        shown: Object.keys(presetColumns).filter((name) => !['traffic_tb', 'mbit'].includes(name)),
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
  return addPlaceOptions(new Command('limits').description('show limits and prices of custom plans')).action(
    action(async ({ berth, show }, options: PlaceOptions) => {
      await show(await berth.limits.get(await placeOf(berth, options)), {
        Zone: ({ zone_slug }) => zone_slug,
        'CPU type': ({ cpu_type }) => cpu_type,
        CPU: range('cpu'),
        'RAM MB': range('ram_mb'),
        'Disk GB': range('disk_gb'),
        'CPU per month': ({ unit_prices }) => rub(unit_prices.cpu_month_rub),
        'GB of RAM per month': ({ unit_prices }) => rub(unit_prices.ram_gb_month_rub),
        'GB of disk per month': ({ unit_prices }) => rub(unit_prices.disk_gb_month_rub),
        'GB of snapshot per month': ({ snapshot_gb_month_rub }) => rub(snapshot_gb_month_rub),
        Backups: ({ backups_percent }) => `${backups_percent} % of the price`,
        ...trafficParts,
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
    description: 'list the largest server that fits, by zone and CPU type',
    columns: capacityColumns,
    shown: ['zone', 'cpu_type', 'level', 'max_cpu', 'max_ram_mb', 'max_disk_gb'],
    items: async ({ berth }, { zone }: { zone?: string }) =>
      berth.capacity.list({ zone_slug: zone === undefined ? undefined : await idOf(berth, zoneKind, zone) }),
  }).option('--zone <zone>', 'only this zone')
}
