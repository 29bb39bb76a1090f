import { readFileSync } from 'node:fs'
import path from 'node:path'
import { v5 as uuidV5 } from 'uuid'
import { isScalar, visit } from 'yaml'
import { isoFaults, isoImage } from '../drivers/disk-images.ts'
import type { ImageSpec } from '../drivers/images.ts'
import type { Fault } from '../drivers/module.ts'
import { imageFields, imageFormats, moduleOf, modules } from '../drivers/modules/modules.ts'
import { cut } from '../http/contract/problem.ts'
import { compileCheck } from '../http/contract/validation.ts'
import { messageOf } from '../message-of.ts'
import { parseMoney, UNITS_PER_KOPECK } from '../money.ts'
import { currencyFaults, secondCurrencyOf } from './currencies.ts'
import { CatalogFile } from './file-schema.ts'
import { type LimitSteps, stepFaults, stepsOf } from './limit-steps.ts'
import type { Operator, Seller } from './operator.ts'
import { poolFaults } from './pools.ts'
import { type PriceEntry, priceFaults } from './prices.ts'
import { readYaml, type Yaml } from './yaml.ts'

/** Ids of templates and presets are derived from their slugs (UUIDv5), so that they outlive a reinstall. */
const NAMESPACE = '6f0f6d1e-7a55-4a0b-9d0c-5b1c8a3f2e10'

export type Zone = CatalogFile['zones'][number]
export type Limits = CatalogFile['limits']
type SellerEntry = NonNullable<NonNullable<CatalogFile['operator']>['seller']>

export interface Preset {
  presetId: string
  slug: string
  cpu: number
  ramMb: number
  diskGb: number
  trafficGb: number
  bandwidthMbit: number | null
  retired?: boolean | undefined
}

export interface Template {
  templateId: string
  slug: string
  title: string
  osFamily: string
  minDiskGb: number
  defaultUsername: string
  image: ImageSpec
  retired?: boolean | undefined
}

/** An ISO of the operator, which every customer can put into the drive of a server. */
export interface OfferedIso {
  isoId: string
  slug: string
  title: string
  image: ImageSpec
  retired?: boolean | undefined
}

export interface Catalog {
  zones: readonly Zone[]
  limits: Limits
  presets: readonly Preset[]
  templates: readonly Template[]
  isos: readonly OfferedIso[]
  prices: readonly PriceEntry[]
  operator: Operator
  limitSteps: LimitSteps
}

/** The part of the catalogue that customers can order. */
export function onSale(catalog: Catalog): Catalog {
  const sold = <Offer extends { retired?: boolean | undefined }>(offers: readonly Offer[]) =>
    offers.filter(({ retired }) => !retired)
  const { zones, presets, templates, isos, limits, prices, operator, limitSteps } = catalog
  return {
    ...{ limits, prices, operator, limitSteps },
    ...{ zones: sold(zones), presets: sold(presets), templates: sold(templates), isos: sold(isos) },
  }
}

export function findZone({ zones }: Catalog, zoneSlug: string): Zone | undefined {
  return zones.find((zone) => zone.zone_slug === zoneSlug)
}

/** The host that customers connect to for the ports of a zone's servers (default: the host of the installation). */
export function hostOf(catalog: Catalog, zoneSlug: string, installation: string): string {
  const zone = findZone(catalog, zoneSlug)
  return (zone && moduleOf(zone).listensAt(zone)) ?? installation
}

/** The message for a zone that does not exist, or is retired. */
export function unknownZone(catalog: Catalog, zoneSlug: string): string {
  return notOnOffer(
    'zone',
    zoneSlug,
    onSale(catalog).zones.map(({ zone_slug }) => zone_slug),
  )
}

/** True if servers of a zone can be created from a template: its driver starts from one format of images only. */
export function isFor(zone: Zone, { image }: Template): boolean {
  return moduleOf(zone).image.isIn(image)
}

export function findTemplate({ templates }: Catalog, templateId: string | undefined): Template | undefined {
  return templates.find((template) => template.templateId === templateId)
}

export function findIso({ isos }: Catalog, isoId: string | null): OfferedIso | undefined {
  return isos.find((iso) => iso.isoId === isoId)
}

/** The images of templates and ISOs, whose slugs all differ. */
export function imagesOf({
  templates,
  isos,
}: Catalog): readonly Pick<Template, 'slug' | 'image' | 'retired'>[] {
  return [...templates, ...isos]
}

/**
 * The message for a name that does not exist, with the existing names; a long list is cut when the error is
 * sent.
 */
export function notOnOffer(noun: string, given: string, offers: readonly string[]): string {
  return `No such ${noun}: ${cut(given)}. On offer: ${offers.join(', ')}.`
}

/** The catalogue file can't be used. Each line of the message has a place and a mistake. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
}

const check = compileCheck('body', CatalogFile)

/**
 * @param now the time at which zones must have prices
 * @throws CatalogError
 */
export function readCatalog(file: string, now?: number): Catalog {
  return parseCatalog(readCatalogText(file), file, now)
}

/** @throws CatalogError */
export function readCatalogText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CatalogError(
      `The catalogue ${file} can't be read: ${messageOf(error)}. Set BERTH_CATALOG to another file.`,
    )
  }
}

/** @throws CatalogError */
export function parseCatalog(text: string, file: string, now = Number.POSITIVE_INFINITY): Catalog {
  const { document, lines, fault } = readYaml(text)
  if (fault !== null) throw new CatalogError(`${file}${fault}`)
  const lineOf = (pointer: string): number => {
    const parts = pointer.split('/').slice(1)
    for (let depth = parts.length; depth >= 0; depth--) {
      const node: unknown =
        depth === 0 ? document.contents : document.getIn(parts.slice(0, depth).map(indexOrName), true)
      if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range))
        return lines.linePos(node.range[0]).line
    }
    return 1
  }
  const value = toValue(document, file)
  const complaints = check(value).map((issue): [string, string] => [issue.pointer, issue.message])
  // A value that passed the check has the shape of the schema.
  if (complaints.length === 0) complaints.push(...contradictions(value as CatalogFile, now))
  if (complaints.length > 0)
    throw new CatalogError(
      complaints.map(([pointer, message]) => `${file}:${lineOf(pointer)}: ${message}`).join('\n'),
    )
  return toCatalog(value as CatalogFile, path.dirname(file)) // as above
}

/** The text of a catalogue with the paths of its images made absolute, so that it means the same elsewhere. */
export function withAbsolutePaths(text: string, folder: string): string {
  const { document } = readYaml(text)
  const found: { start: number; end: number; file: string }[] = []
  visit(document, {
    Pair: (_, { key, value }) => {
      if (
        isScalar(key) &&
        key.value === 'file' &&
        isScalar(value) &&
        typeof value.value === 'string' &&
        value.range
      )
        found.push({ start: value.range[0], end: value.range[1], file: value.value })
    },
  })
  return found.reduceRight(
    (whole, { start, end, file }) =>
      path.isAbsolute(file)
        ? whole
        : whole.slice(0, start) + JSON.stringify(path.resolve(folder, file)) + whole.slice(end),
    text,
  )
}

/** @throws CatalogError if an alias has no anchor, or expands to far too much */
function toValue(document: Yaml['document'], file: string): unknown {
  try {
    return document.toJS()
  } catch (error) {
    throw new CatalogError(`${file}: ${messageOf(error)}`)
  }
}

function indexOrName(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part
}

/** Lists mistakes that a schema can't express. */
function contradictions(file: CatalogFile, now: number): Fault[] {
  const found: Fault[] = []
  const twice = (section: 'zones' | 'presets' | 'templates' | 'isos', names: string[]) =>
    names.forEach((name, at) => {
      if (names.indexOf(name) !== at) found.push([`/${section}/${at}`, `${section} has "${name}" twice.`])
    })
  twice(
    'zones',
    file.zones.map((zone) => zone.zone_slug),
  )
  twice(
    'presets',
    file.presets.map((preset) => preset.slug),
  )
  twice(
    'templates',
    file.templates.map((template) => template.slug),
  )
  const isos = file.isos ?? []
  twice(
    'isos',
    isos.map((iso) => iso.slug),
  )
  isos.forEach((iso, at) => {
    if (file.templates.some(({ slug }) => slug === iso.slug))
      found.push([`/isos/${at}`, `a template has the slug "${iso.slug}" already.`])
    found.push(...isoFaults(iso, `/isos/${at}`))
  })
  file.prices.forEach((price, at) => {
    if (!file.zones.some((zone) => zone.zone_slug === price.zone_slug))
      found.push([`/prices/${at}`, `no such zone: ${price.zone_slug}.`])
  })
  found.push(...poolFaults(file.zones), ...modules.flatMap((module) => module.zoneFaults(file.zones)))
  const presets = file.presets.map((preset) => preset.slug)
  found.push(...priceFaults(priceEntriesOf(file), file.zones, presets, now))
  found.push(...stepFaults(file.account_limits), ...currencyFaults(file.operator?.second_currency))
  const folder = '' // faults do not depend on it
  file.templates.forEach((template, at) => {
    const place = `/templates/${at}`
    if (!imageFormats.some((format) => format.isIn(imageOf(template, folder))))
      found.push([place, `a template requires ${Object.keys(imageFields).join(' or ')}.`])
    found.push(...imageFormats.flatMap((format) => format.faults(template, place)))
  })
  return found
}

/** @param folder where relative paths of images start */
function toCatalog(file: CatalogFile, folder: string): Catalog {
  return {
    zones: file.zones,
    limits: file.limits,
    presets: file.presets.map((preset) => ({
      presetId: uuidV5(`preset:${preset.slug}`, NAMESPACE),
      slug: preset.slug,
      cpu: preset.cpu,
      ramMb: preset.ram_mb,
      diskGb: preset.disk_gb,
      trafficGb: preset.traffic_gb ?? 0,
      bandwidthMbit: preset.bandwidth_mbit ?? null,
      retired: preset.retired,
    })),
    templates: file.templates.map((template) => ({
      templateId: uuidV5(`template:${template.slug}`, NAMESPACE),
      slug: template.slug,
      title: template.title,
      osFamily: template.os_family,
      minDiskGb: template.min_disk_gb,
      defaultUsername: template.default_username,
      image: imageOf(template, folder),
      retired: template.retired,
    })),
    isos: (file.isos ?? []).map(({ title, retired, ...iso }) => ({
      isoId: uuidV5(`iso:${iso.slug}`, NAMESPACE),
      ...{ slug: iso.slug, title, image: isoImage(iso, folder), retired },
    })),
    prices: priceEntriesOf(file),
    limitSteps: stepsOf(file.account_limits),
    operator: operatorOf(file.operator),
  }
}

function operatorOf(operator: CatalogFile['operator']): Operator {
  return {
    name: operator?.name ?? null,
    contact: operator?.contact ?? null,
    paymentUrl: operator?.payment_url ?? null,
    logoUrl: operator?.logo_url ?? null,
    terms: operator?.terms ?? null,
    secondCurrency: operator?.second_currency ? secondCurrencyOf(operator.second_currency) : null,
    seller: operator?.seller ? sellerOf(operator.seller) : null,
  }
}

function sellerOf({ name, address, tax_id, ...seller }: SellerEntry): Seller {
  const { first_month, number_prefix = '', vat, bank } = seller
  return {
    ...{ name, address, taxId: tax_id, numberPrefix: number_prefix },
    firstMonth: Date.parse(`${first_month}-01`),
    // A percent has 100 hundredths, as a ruble has 100 kopecks.
    vat: vat ? { rate: parseMoney(vat.percent) / UNITS_PER_KOPECK, isIncluded: vat.is_included } : null,
    bank: bank
      ? {
          ...{ name: bank.name, account: bank.account, bic: bank.bic },
          correspondentAccount: bank.correspondent_account ?? null,
        }
      : null,
  }
}

function imageOf(template: CatalogFile['templates'][number], folder: string): ImageSpec {
  const image: ImageSpec = { slug: template.slug, sources: [] }
  for (const format of imageFormats) Object.assign(image, format.read(template, folder))
  return image
}

function priceEntriesOf(file: CatalogFile): PriceEntry[] {
  return file.prices.map((price) => ({
    zoneSlug: price.zone_slug,
    cpuType: price.cpu_type,
    from: Date.parse(price.active_from),
    existingFrom: price.existing_from === undefined ? null : Date.parse(price.existing_from),
    isLargeChange: price.large_change === true,
    prices: {
      cpu: parseMoney(price.cpu_month_rub),
      ramGb: parseMoney(price.ram_gb_month_rub),
      diskGb: parseMoney(price.disk_gb_month_rub),
      ipv4: parseMoney(price.ipv4_month_rub ?? '0.00'),
      snapshotGb: parseMoney(price.snapshot_gb_month_rub ?? '0.00'),
      volumeGb: parseMoney(price.volume_gb_month_rub ?? price.disk_gb_month_rub),
      backupsPercent: price.backups_percent ?? 0,
      trafficTb: parseMoney(price.traffic_tb_rub ?? '0.00'),
      presets: new Map(
        Object.entries(price.preset_month_rub ?? {}).map(([slug, amount]) => [slug, parseMoney(amount)]),
      ),
    },
  }))
}
