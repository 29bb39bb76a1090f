import { isScalar, Lexer, visit } from 'yaml'
import { readYaml } from './yaml.ts'

const MASK = '***'

/** The fields with the sources of images. Their addresses may contain tokens; those of pages are public. */
const SOURCES = ['url', 'checksums_url', 'signature_url', 'key_url', 'server']

/** The lexer's sign before a value, which may look like a comment. */
const VALUE = '\x1f'

/** An address in a text. Nothing follows the last group, which would cause backtracking on long texts. */
const ADDRESS = /\b[a-z]{2,10}:\/\/[^\s"'<>]+/gi

/** The signs that the lexer adds: a document begins, a flow ends with a mistake, a value follows. */
const SIGNS = ['\x02', '\x18', VALUE]

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
 * Restores the addresses in force where a text has their masked form, unless two addresses share that form.
 * @param text a text that was edited from a masked one
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
  const restored = replaceSources(text, (value) => (isMasked(value) ? (known.get(value) ?? null) : null))
  return unmaskComments(restored, inForce)
}

export function isMasked(value: string): boolean {
  return value.includes(MASK)
}

/**
 * Restores addresses only in comments, which nobody but readers of the file sees. Elsewhere, customers could
 * see them.
 */
function unmaskComments(text: string, inForce: string): string {
  const known = new Map<string, string>()
  changeComments(inForce, (comment) => {
    for (const [address] of comment.matchAll(ADDRESS)) {
      const masked = maskAddresses(address, [])
      const other = known.get(masked)
      known.set(masked, other === undefined || other === address ? address : masked)
    }
    return comment
  })
  return changeComments(text, (comment) => comment.replace(ADDRESS, (masked) => known.get(masked) ?? masked))
}

function changeComments(text: string, change: (comment: string) => string): string {
  let isValue = false
  const parts = [...new Lexer().lex(text)].map((part) => {
    const isComment = !isValue && part.startsWith('#')
    isValue = part === VALUE
    return { part, next: isComment ? change(part) : part }
  })
  const written = parts.filter(({ part }) => !SIGNS.includes(part))
  // A text that contains the lexer's own signs can't be reassembled.
  return written.map(({ part }) => part).join('') === text ? written.map(({ next }) => next).join('') : text
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

/** @param replace returns the value that replaces an address of an image; null: the address stays */
function replaceSources(text: string, replace: (value: string) => string | null): string {
  const { document, fault } = readYaml(text)
  // In a text that is not a catalogue, such as a message, addresses are not parsed as YAML.
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
