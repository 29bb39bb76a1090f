import type { CpuType, Feature } from '../drivers/driver.ts'
import { moduleOf } from '../drivers/modules/modules.ts'
import { isoTime } from '../http/contract/fields.ts'
import { formatMoney, hourPrice } from '../money.ts'
import type { SecondCurrency } from './currencies.ts'
import type {
  Limits as CatalogLimits,
  Preset as CatalogPreset,
  Template as CatalogTemplate,
  Zone as CatalogZone,
} from './file.ts'
import { customTraffic, presetPrice, presetTraffic, type Traffic } from './plans.ts'
import type { Prices } from './prices.ts'
import type { ZoneCapacity } from './room.ts'
import type { Capacity, Limits, Preset, SecondCurrencyShown, Template, Zone } from './schema.ts'

/** The currency beside rubles, as customers see it. */
export function secondCurrencyView(currency: SecondCurrency | null): SecondCurrencyShown {
  return currency && { code: currency.code, decimals: currency.decimals, rubles: currency.rubles }
}

export function zoneView(
  zone: CatalogZone,
  { cpuTypes, features }: { cpuTypes: CpuType[]; features: readonly Feature[] },
  isAvailable: boolean,
  prices: Prices | null,
): Zone {
  return {
    zone_slug: zone.zone_slug,
    title: zone.title,
    city: zone.city,
    country_code: zone.country_code,
    cpu_types: cpuTypes,
    server_type: moduleOf(zone).kind,
    features: [...features],
    volume_gb_month_rub: features.includes('volumes') && prices ? formatMoney(prices.volumeGb) : null,
    is_available: isAvailable,
  }
}

export function templateView(template: CatalogTemplate): Template {
  return {
    template_id: template.templateId,
    slug: template.slug,
    title: template.title,
    os_family: template.osFamily,
    min_disk_gb: template.minDiskGb,
    default_username: template.defaultUsername,
  }
}

export function presetView(preset: CatalogPreset, prices: Prices, isAvailable: boolean): Preset {
  const priceMonth = presetPrice(preset, prices)
  return {
    preset_id: preset.presetId,
    slug: preset.slug,
    cpu: preset.cpu,
    ram_mb: preset.ramMb,
    disk_gb: preset.diskGb,
    price_month_rub: formatMoney(priceMonth),
    price_hour_rub: formatMoney(hourPrice(priceMonth), 4),
    ...trafficView(presetTraffic(preset, prices)),
    is_available: isAvailable,
  }
}

export function trafficView({ includedGb, priceTb, bandwidthMbit }: Traffic) {
  return { traffic_gb: includedGb, traffic_tb_rub: formatMoney(priceTb), bandwidth_mbit: bandwidthMbit }
}

export function limitsView(
  zoneSlug: string,
  cpuType: CpuType,
  limits: CatalogLimits,
  prices: Prices,
): Limits {
  return {
    zone_slug: zoneSlug,
    cpu_type: cpuType,
    cpu: limits.cpu,
    ram_mb: limits.ram_mb,
    disk_gb: limits.disk_gb,
    unit_prices: {
      cpu_month_rub: formatMoney(prices.cpu),
      ram_gb_month_rub: formatMoney(prices.ramGb),
      disk_gb_month_rub: formatMoney(prices.diskGb),
    },
    snapshot_gb_month_rub: formatMoney(prices.snapshotGb),
    backups_percent: prices.backupsPercent,
    ...trafficView(customTraffic(limits, prices)),
  }
}

export function capacityView({ updated_at, ...row }: ZoneCapacity): Capacity {
  return { ...row, updated_at: isoTime(updated_at) }
}
