import { isDeepStrictEqual } from 'node:util'
import type { CatalogFile } from './file-schema.ts'
import { isMasked } from './masking.ts'
import { readYaml } from './yaml.ts'

/** A part of the catalogue file. */
type Part = Readonly<Record<string, unknown>>

/**
 * The fields that a text from outside the host may change. The others name the host's drivers, networks,
 * files and addresses, and the recipients of customers' money. A field that is missing here is protected.
 */
const FREE = {
  zones: ['title', 'city', 'country_code', 'cpu_types', 'retired'],
  templates: ['title', 'os_family', 'min_disk_gb', 'default_username', 'retired'],
  isos: ['title', 'retired'],
  operator: ['name', 'contact', 'logo_url', 'terms', 'second_currency', 'seller'],
  seller: ['name', 'address', 'tax_id', 'first_month', 'number_prefix', 'vat'],
} as const

const FREE_SECTIONS = ['limits', 'account_limits', 'prices', 'presets']
const LISTS = { zones: 'zone_slug', templates: 'slug', isos: 'slug' } as const

/**
 * Lists the changes of a text that only an edit on the host may make, each as a sentence with its place.
 * @param inForce the text in force
 * @param text a text that passed the check
 */
export function protectedChanges(inForce: string, text: string): string[] {
  const [before, after] = [readValue(inForce), readValue(text)]
  const known = new Set(maskedIn(before, '').map(([, value]) => value))
  const sections = [...Object.keys(LISTS), 'operator', ...FREE_SECTIONS]
  return [
    ...changedFields(before, after, sections, ''),
    ...Object.entries(LISTS).flatMap(([section, key]) =>
      changedEntries(section, key, listOf(before, section), listOf(after, section)),
    ),
    ...inOperator(partOf(before, 'operator'), partOf(after, 'operator')),
    ...maskedIn(after, '')
      .filter(([, value]) => !known.has(value))
      .map(
        ([place]) => `${place} has a masked address that stands for none in force: put it back as it was.`,
      ),
  ]
}

function inOperator(before: Part, after: Part): string[] {
  return [
    ...changedFields(before, after, FREE.operator, 'operator.'),
    ...changedFields(partOf(before, 'seller'), partOf(after, 'seller'), FREE.seller, 'operator.seller.'),
  ]
}

function changedEntries(section: string, key: string, before: readonly Part[], after: readonly Part[]) {
  const slugsOf = (parts: readonly Part[]) => new Map(parts.map((part) => [String(part[key]), part]))
  const [olds, news] = [slugsOf(before), slugsOf(after)]
  const free = [key, ...FREE[section as keyof typeof LISTS]] // a key of LISTS
  return [
    ...[...olds.keys()]
      .filter((slug) => !news.has(slug))
      .map((slug) => onHost(`${section}.${slug}`, 'removed')),
    ...[...news].flatMap(([slug, part]) => {
      const old = olds.get(slug)
      if (!old) return onHost(`${section}.${slug}`, 'added')
      return changedFields(old, part, free, `${section}.${slug}.`)
    }),
  ]
}

function changedFields(before: Part, after: Part, free: readonly string[], place: string): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((field) => !free.includes(field) && !isDeepStrictEqual(before[field], after[field]))
    .map((field) => onHost(`${place}${field}`, 'changed'))
}

function onHost(place: string, how: string): string {
  return `${place} can be ${how} in the file on the host only: put it back as it was.`
}

/** The texts in which an address is masked, with their places. */
function maskedIn(value: unknown, place: string): [place: string, value: string][] {
  if (typeof value === 'string') return isMasked(value) ? [[place, value]] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => maskedIn(part, place ? `${place}.${key}` : key))
}

function readValue(text: string): Part {
  return readYaml(text).document.toJS() as CatalogFile // as the check of the text has found
}

function partOf(value: Part, name: string): Part {
  return (value[name] ?? {}) as Part // the schema has an object there
}

function listOf(value: Part, name: string): readonly Part[] {
  return (value[name] ?? []) as readonly Part[] // the schema has a list there
}
