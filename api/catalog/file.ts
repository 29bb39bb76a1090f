import { readFileSync } from 'node:fs'
import path from 'node:path'
import Type, { type Static } from 'typebox'
import { v5 as uuidV5 } from 'uuid'
import { isScalar, LineCounter, parseDocument, visit } from 'yaml'
import { driverNames, type ImageSource, type ImageSpec, type IncusImage } from '../drivers/driver.ts'
import { compileCheck } from '../http/contract/validation.ts'
import { messageOf } from '../message-of.ts'
import { parseMoney } from '../money.ts'
import { IncusSection, IncusSource, incusFaults } from './incus.ts'
import { poolFaults } from './pools.ts'
import { type PriceEntry, priceFaults } from './prices.ts'
import { CpuTypeName } from './schema.ts'

/** Ids of templates and presets are derived from their slugs (UUIDv5), so that they outlive a reinstall. */
const NAMESPACE = '6f0f6d1e-7a55-4a0b-9d0c-5b1c8a3f2e10'

const Slug = Type.String({
  pattern: '^[a-z0-9][a-z0-9.-]{0,62}$',
  errorMessage: 'must be lower-case letters, digits, dots and dashes.',
})
const Amount = Type.String({
  pattern: String.raw`^\d{1,9}(\.\d{1,2})?$`,
  errorMessage: 'must be an amount such as "180.00", in quotes and not negative.',
})
const Day = Type.String({ format: 'date' })
const Range = Type.Object({
  min: Type.Integer({ minimum: 1 }),
  max: Type.Integer({ minimum: 1 }),
  step: Type.Integer({ minimum: 1 }),
})

/** What a plan has of the network: GB that it may send a month for its price, and how fast. */
const network = {
  traffic_gb: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  bandwidth_mbit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
}

/** Not sold any more, but still there for the servers that use it. */
const Retired = Type.Optional(Type.Boolean())

/** Images, and what they are held against, never come by plain http. */
const Encrypted = Type.String({ pattern: '^https://' })

const Source = Type.Object({
  url: Type.Optional(Encrypted),
  sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  sha512: Type.Optional(Type.String({ pattern: '^[0-9a-f]{128}$' })),
  checksums_url: Type.Optional(Encrypted),
  signature_url: Type.Optional(Encrypted),
  key_url: Type.Optional(Encrypted),
  fingerprint: Type.Optional(Type.String({ pattern: '^[0-9A-F]{40}$' })),
  unsigned: Type.Optional(Type.Literal(true)),
  file: Type.Optional(Type.String({ minLength: 1 })),
  build: Type.Optional(Type.String({ minLength: 1 })),
})

const CatalogFile = Type.Object({
  zones: Type.Array(
    Type.Object({
      zone_slug: Slug,
      title: Type.String(),
      city: Type.String(),
      country_code: Type.String({ pattern: '^[A-Z]{2}$' }),
      cpu_types: Type.Array(CpuTypeName, { minItems: 1, uniqueItems: true }),
      // What runs the zone's new servers; by default what BERTH_COMPUTE says.
      driver: Type.Optional(Type.Enum([...driverNames])),
      incus: Type.Optional(IncusSection),
      overcommit: Type.Object({
        cpu: Type.Number({ minimum: 0.1 }),
        ram: Type.Number({ minimum: 0.1 }),
        disk: Type.Number({ minimum: 0.1 }),
      }),
      // Ranges that are routed to the host, for servers to have public addresses of.
      public_ipv4: Type.Optional(Type.Array(Type.String(), { uniqueItems: true, maxItems: 64 })),
      public_ipv6: Type.Optional(Type.String()),
      retired: Retired,
    }),
    { minItems: 1 },
  ),
  // Of the network each custom plan has the same.
  limits: Type.Object({ cpu: Range, ram_mb: Range, disk_gb: Range, ...network }),
  prices: Type.Array(
    Type.Object({
      active_from: Day,
      zone_slug: Slug,
      cpu_type: CpuTypeName,
      cpu_month_rub: Amount,
      ram_gb_month_rub: Amount,
      disk_gb_month_rub: Amount,
      // Of a public IPv4 address; free unless told.
      ipv4_month_rub: Type.Optional(Amount),
      // Of a TB sent beyond what plans include; free unless told.
      traffic_tb_rub: Type.Optional(Amount),
      // Presets with a price of their own; the others cost what their parts cost.
      preset_month_rub: Type.Optional(Type.Record(Type.String(), Amount)),
      // From when servers that were ordered before pay this too; without it they keep their price.
      existing_from: Type.Optional(Day),
    }),
    { minItems: 1 },
  ),
  presets: Type.Array(
    Type.Object({
      slug: Slug,
      cpu: Type.Integer({ minimum: 1 }),
      ram_mb: Type.Integer({ minimum: 64 }),
      disk_gb: Type.Integer({ minimum: 1 }),
      ...network,
      retired: Retired,
    }),
  ),
  templates: Type.Array(
    Type.Object({
      slug: Slug,
      title: Type.String(),
      os_family: Type.String(),
      min_disk_gb: Type.Integer({ minimum: 1 }),
      default_username: Type.String({ pattern: '^[a-z_][a-z0-9_-]{0,31}$' }),
      // For zones on QEMU, and for those on Incus: one of them at least.
      image: Type.Optional(Type.Array(Source, { minItems: 1 })),
      incus: Type.Optional(IncusSource),
      retired: Retired,
    }),
    { minItems: 1 },
  ),
})
type CatalogFile = Static<typeof CatalogFile>

export type Zone = CatalogFile['zones'][number]
export type Limits = CatalogFile['limits']

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

export interface Catalog {
  zones: readonly Zone[]
  limits: Limits
  presets: readonly Preset[]
  templates: readonly Template[]
  prices: readonly PriceEntry[]
}

/** What customers can order of it. */
export function onSale({ zones, presets, templates, limits, prices }: Catalog): Catalog {
  const sold = <Offer extends { retired?: boolean | undefined }>(offers: readonly Offer[]) =>
    offers.filter(({ retired }) => !retired)
  return { zones: sold(zones), presets: sold(presets), templates: sold(templates), limits, prices }
}

export function findZone({ zones }: Catalog, zoneSlug: string): Zone | undefined {
  return zones.find((zone) => zone.zone_slug === zoneSlug)
}

/** What customers connect to for the ports of a zone's servers: where its members listen, else the installation's host. */
export function hostOf({ zones }: Catalog, zoneSlug: string, installation: string): string {
  return zones.find(({ zone_slug }) => zone_slug === zoneSlug)?.incus?.listen ?? installation
}

/** Whether servers of a zone can be created from a template: its driver takes images of its own kind only. */
export function isFor({ driver }: Zone, { image }: Template): boolean {
  return driver === 'incus' ? image.incus !== undefined : image.sources.length > 0
}

export function findTemplate({ templates }: Catalog, templateId: string | undefined): Template | undefined {
  return templates.find((template) => template.templateId === templateId)
}

/** The catalogue file can't be used. Each line of the message names a place and says what is wrong. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
}

const check = compileCheck('body', CatalogFile)

/**
 * @param now zones must have prices by then
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
  const lines = new LineCounter()
  // "core" keeps dates as text; a date is compared as text too.
  const document = parseDocument(text, { lineCounter: lines, schema: 'core' })
  const yamlError = document.errors[0]
  if (yamlError) throw new CatalogError(`${file}: ${yamlError.message}`)
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
  // What the check let through has the shape of the schema.
  if (complaints.length === 0) complaints.push(...contradictions(value as CatalogFile, now))
  if (complaints.length > 0)
    throw new CatalogError(
      complaints.map(([pointer, message]) => `${file}:${lineOf(pointer)}: ${message}`).join('\n'),
    )
  return toCatalog(value as CatalogFile, path.dirname(file)) // as above
}

/** The text of a catalogue with the paths of its images made absolute, so that it means the same elsewhere. */
export function withAbsolutePaths(text: string, folder: string): string {
  const document = parseDocument(text, { schema: 'core' })
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

/** @throws CatalogError where an alias leads nowhere, or to far too much */
function toValue(document: ReturnType<typeof parseDocument>, file: string): unknown {
  try {
    return document.toJS()
  } catch (error) {
    throw new CatalogError(`${file}: ${messageOf(error)}`)
  }
}

function indexOrName(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part
}

/** What a schema can't say. */
function contradictions(file: CatalogFile, now: number): [pointer: string, message: string][] {
  const found: [string, string][] = []
  const twice = (section: 'zones' | 'presets' | 'templates', names: string[]) =>
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
  file.prices.forEach((price, at) => {
    if (!file.zones.some((zone) => zone.zone_slug === price.zone_slug))
      found.push([`/prices/${at}`, `no such zone: ${price.zone_slug}.`])
  })
  found.push(...poolFaults(file.zones), ...incusFaults(file.zones))
  const presets = file.presets.map((preset) => preset.slug)
  found.push(...priceFaults(priceEntriesOf(file), file.zones, presets, now))
  file.templates.forEach((template, at) => {
    const { image = [], incus } = template
    if (image.length === 0 && !incus) found.push([`/templates/${at}`, 'a template requires image or incus.'])
    if (incus && (incus.file === undefined) === (incus.alias === undefined || incus.server === undefined))
      found.push([`/templates/${at}/incus`, 'must be either file, or alias and server.'])
    image.forEach((source, place) => {
      if ([source.url, source.file, source.build].filter(Boolean).length !== 1)
        found.push([`/templates/${at}/image/${place}`, 'a source must be one of url, file or build.'])
      if (source.url && !source.sha256 && !source.sha512 && !source.checksums_url)
        found.push([`/templates/${at}/image/${place}`, 'a url requires sha256, sha512 or checksums_url.'])
      if ((source.key_url === undefined) !== (source.fingerprint === undefined))
        found.push([`/templates/${at}/image/${place}`, 'key_url and fingerprint require each other.'])
    })
  })
  return found
}

/** @param folder where relative paths of images start from */
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
      image: {
        slug: template.slug,
        sources: (template.image ?? []).map((source) => toSource(source, folder)),
        incus: template.incus && toIncusImage(template.incus, folder),
      },
      retired: template.retired,
    })),
    prices: priceEntriesOf(file),
  }
}

function toIncusImage(
  { file, alias = '', server = '' }: Static<typeof IncusSource>,
  folder: string,
): IncusImage {
  return file === undefined ? { alias, server } : { file: path.resolve(folder, file) }
}

function priceEntriesOf(file: CatalogFile): PriceEntry[] {
  return file.prices.map((price) => ({
    zoneSlug: price.zone_slug,
    cpuType: price.cpu_type,
    from: Date.parse(price.active_from),
    existingFrom: price.existing_from === undefined ? null : Date.parse(price.existing_from),
    prices: {
      cpu: parseMoney(price.cpu_month_rub),
      ramGb: parseMoney(price.ram_gb_month_rub),
      diskGb: parseMoney(price.disk_gb_month_rub),
      ipv4: parseMoney(price.ipv4_month_rub ?? '0.00'),
      trafficTb: parseMoney(price.traffic_tb_rub ?? '0.00'),
      presets: new Map(
        Object.entries(price.preset_month_rub ?? {}).map(([slug, amount]) => [slug, parseMoney(amount)]),
      ),
    },
  }))
}

function toSource({ url, file, build, ...checksums }: Static<typeof Source>, folder: string): ImageSource {
  if (url !== undefined) return { type: 'url', url, ...checksums }
  if (file !== undefined) {
    const { sha256 } = checksums
    return { type: 'file', path: path.resolve(folder, file), ...(sha256 ? { sha256 } : {}) }
  }
  return { type: 'build', name: build ?? '' }
}
