import { readFileSync } from 'node:fs'
import Type, { type Static } from 'typebox'
import { v5 as uuidV5 } from 'uuid'
import { LineCounter, parseDocument } from 'yaml'
import { driverNames, type ImageSource, type ImageSpec } from '../drivers/driver.ts'
import { closed, compileCheck } from '../http/validation.ts'
import { messageOf } from '../message-of.ts'
import { parseMoney } from '../money.ts'
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

const Source = Type.Object({
  url: Type.Optional(Type.String({ pattern: '^https?://' })),
  sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  sha512: Type.Optional(Type.String({ pattern: '^[0-9a-f]{128}$' })),
  checksums_url: Type.Optional(Type.String({ pattern: '^https?://' })),
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
      overcommit: Type.Object({
        cpu: Type.Number({ minimum: 0.1 }),
        ram: Type.Number({ minimum: 0.1 }),
        disk: Type.Number({ minimum: 0.1 }),
      }),
    }),
    { minItems: 1 },
  ),
  limits: Type.Object({ cpu: Range, ram_mb: Range, disk_gb: Range }),
  prices: Type.Array(
    Type.Object({
      active_from: Day,
      zone_slug: Slug,
      cpu_type: CpuTypeName,
      cpu_month_rub: Amount,
      ram_gb_month_rub: Amount,
      disk_gb_month_rub: Amount,
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
    }),
  ),
  templates: Type.Array(
    Type.Object({
      slug: Slug,
      title: Type.String(),
      os_family: Type.String(),
      min_disk_gb: Type.Integer({ minimum: 1 }),
      default_username: Type.String({ pattern: '^[a-z_][a-z0-9_-]{0,31}$' }),
      image: Type.Array(Source, { minItems: 1 }),
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
}

export interface Template {
  templateId: string
  slug: string
  title: string
  osFamily: string
  minDiskGb: number
  defaultUsername: string
  image: ImageSpec
}

export interface Catalog {
  zones: readonly Zone[]
  limits: Limits
  presets: readonly Preset[]
  templates: readonly Template[]
  prices: readonly PriceEntry[]
}

export function findZone({ zones }: Catalog, zoneSlug: string): Zone | undefined {
  return zones.find((zone) => zone.zone_slug === zoneSlug)
}

export function findTemplate({ templates }: Catalog, templateId: string | undefined): Template | undefined {
  return templates.find((template) => template.templateId === templateId)
}

/** The catalogue file can't be used. Each line of the message names a place and says what is wrong. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
}

const check = compileCheck('body', closed(CatalogFile))

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
    const path = pointer.split('/').slice(1)
    for (let depth = path.length; depth >= 0; depth--) {
      const node: unknown =
        depth === 0 ? document.contents : document.getIn(path.slice(0, depth).map(indexOrName), true)
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
  return toCatalog(value as CatalogFile) // as above
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
  const presets = file.presets.map((preset) => preset.slug)
  found.push(...priceFaults(priceEntriesOf(file), file.zones, presets, now))
  file.templates.forEach((template, at) => {
    template.image.forEach((source, place) => {
      if ([source.url, source.file, source.build].filter(Boolean).length !== 1)
        found.push([`/templates/${at}/image/${place}`, 'a source must be one of url, file or build.'])
      if (source.url && !source.sha256 && !source.sha512 && !source.checksums_url)
        found.push([`/templates/${at}/image/${place}`, 'a url requires sha256, sha512 or checksums_url.'])
    })
  })
  return found
}

function toCatalog(file: CatalogFile): Catalog {
  return {
    zones: file.zones,
    limits: file.limits,
    presets: file.presets.map((preset) => ({
      presetId: uuidV5(`preset:${preset.slug}`, NAMESPACE),
      slug: preset.slug,
      cpu: preset.cpu,
      ramMb: preset.ram_mb,
      diskGb: preset.disk_gb,
    })),
    templates: file.templates.map((template) => ({
      templateId: uuidV5(`template:${template.slug}`, NAMESPACE),
      slug: template.slug,
      title: template.title,
      osFamily: template.os_family,
      minDiskGb: template.min_disk_gb,
      defaultUsername: template.default_username,
      image: { slug: template.slug, sources: template.image.map(toSource) },
    })),
    prices: priceEntriesOf(file),
  }
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
      presets: new Map(
        Object.entries(price.preset_month_rub ?? {}).map(([slug, amount]) => [slug, parseMoney(amount)]),
      ),
    },
  }))
}

function toSource({
  url,
  file,
  build,
  ...checksums
}: CatalogFile['templates'][number]['image'][number]): ImageSource {
  if (url !== undefined) return { type: 'url', url, ...checksums }
  if (file !== undefined)
    return { type: 'file', path: file, ...(checksums.sha256 ? { sha256: checksums.sha256 } : {}) }
  return { type: 'build', name: build ?? '' }
}
