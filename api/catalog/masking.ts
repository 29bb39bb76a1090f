import { isScalar, visit } from 'yaml'
import { readYaml } from './yaml.ts'

const MASK = '***'

/** The fields that name where images come from. Their addresses may have tokens in them; those of pages are public. */
const SOURCES = ['url', 'checksums_url', 'signature_url', 'key_url', 'server']

/** An address in a text. Nothing follows the last group, so that a long text takes no longer than it must. */
const ADDRESS = /\b[a-z]{2,10}:\/\/[^\s"'<>]+/gi

/** The end of an address that belongs to the YAML around it. */
const CLOSING = ',}])'

interface Found {
  start: number
  end: number
  value: string
}

/**
 * Hides the credentials in the addresses of a catalogue: user and password of all, and queries, which may be signed,
 * of images and of comments.
 * @param text the catalogue, or messages about it
 * @param shown addresses of pages that customers see anyway, whose queries stay
 */
export function maskSecrets(text: string, shown: readonly (string | null)[] = []): string {
  const written = replaceSources(text, (value) => {
    const masked = maskAddresses(value, shown)
    return masked === value ? null : masked
  })
  return maskAddresses(written, shown)
}

/**
 * Puts the addresses in force back where a text has their masked form, unless two have the same.
 * @param text a text that was made of a masked one
 * @param inForce the catalogue in force, with its secrets
 */
export function unmask(text: string, inForce: string): string {
  if (!text.includes(MASK)) return text
  const known = new Map<string, string | null>()
  replaceSources(inForce, (value) => {
    const masked = maskAddresses(value, [])
    const other = known.get(masked)
    known.set(masked, other === undefined || other === value ? value : null)
    return null
  })
  return replaceSources(text, (value) => (value.includes(MASK) ? (known.get(value) ?? null) : null))
}

function maskAddresses(text: string, shown: readonly (string | null)[]): string {
  return text.replace(ADDRESS, (whole) => {
    if (shown.includes(whole)) return maskUser(whole)
    let end = whole.length
    while (CLOSING.includes(whole.charAt(end - 1))) end--
    const address = whole.slice(0, end)
    const query = address.indexOf('?')
    const masked = query < 0 ? maskUser(address) : `${maskUser(address.slice(0, query))}?${MASK}`
    return masked + whole.slice(end)
  })
}

/** Hides the user and password, which stand before the last @ of the host. */
function maskUser(address: string): string {
  const host = address.indexOf('//') + 2
  const path = address.slice(host).search(/[/?#]/)
  const at = address.slice(0, path < 0 ? undefined : host + path).lastIndexOf('@')
  return at < host ? address : `${address.slice(0, host)}${MASK}${address.slice(at)}`
}

/** @param replace returns the value that replaces an address of an image; null: it stays as it is written */
function replaceSources(text: string, replace: (value: string) => string | null): string {
  const { document, fault } = readYaml(text)
  // A text that is no catalogue, such as a message, has addresses as they are.
  if (fault !== null) return text
  const found: Found[] = []
  visit(document, {
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || !SOURCES.includes(String(key.value))) return
      if (!isScalar(value) || typeof value.value !== 'string' || !value.range) return
      const next = replace(value.value)
      if (next !== null) found.push({ start: value.range[0], end: value.range[1], value: next })
    },
  })
  return found
    .sort((a, b) => a.start - b.start)
    .reduceRight(
      (whole, { start, end, value }) => whole.slice(0, start) + JSON.stringify(value) + whole.slice(end),
      text,
    )
}
