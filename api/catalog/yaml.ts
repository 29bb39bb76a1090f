import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
} from 'yaml'
import { cut } from '../http/contract/problem.ts'

/** The most levels of lists and maps. The schema has at most six. */
const MAX_DEPTH = 30

/** The most aliases: each is looked up in the whole document, and repeats its target. */
const MAX_ALIASES = 100

/**
 * The most parts, as in 100 KB of prices. In a text with nothing but mistakes, each part takes as long as 100
 * characters.
 */
const MAX_PARTS = 30_000

/** The reason why a text from elsewhere takes too long to read; null: it does not. */
export function sizeFault(text: string): string | null {
  let parts = 0
  for (const _ of new Lexer().lex(text))
    if (++parts > MAX_PARTS) return 'The text has too many parts for a catalogue: check it on the host.'
  return null
}

export interface Yaml {
  document: Document.Parsed
  lines: LineCounter
  /** The first mistake, as a phrase to follow the file's name; null: there is none. */
  fault: string | null
}

/**
 * Reads YAML in a time that grows with its length alone, since its author may be hostile. The library's own check for
 * duplicate keys compares each with all others, and its messages copy whole lines.
 */
export function readYaml(text: string): Yaml {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    // "core" keeps dates as text; a date is compared as text too.
    ...{ schema: 'core', lineCounter: lines },
    ...{ uniqueKeys: false, prettyErrors: false },
  })
  const [error] = document.errors
  if (error) return { document, lines, fault: syntaxFault(error.message, error.pos[0], text, lines) }
  const found = new Walk(document).fault
  return { document, lines, fault: found && `:${lines.linePos(found.at).line}: ${found.message}` }
}

function syntaxFault(message: string, at: number, text: string, lines: LineCounter): string {
  const { line, col } = lines.linePos(at)
  const start = at - Math.min(col - 1, 60)
  const [quoted = ''] = text.slice(start, start + 80).split(/[\r\n]/, 1)
  return `: ${cut(message)} at line ${line}, column ${col}:\n\n${quoted}\n${' '.repeat(at - start)}^\n`
}

interface Found {
  at: number
  message: string
}

/** Looks for constructs that the library accepts, but no catalogue needs. */
class Walk {
  readonly fault: Found | null
  readonly #document: Document.Parsed
  /** The keys and indexes that lead to the present node. */
  readonly #path: (string | number)[] = []
  /** The anchors of the nodes around the present one. */
  readonly #around = new Set<string>()
  #aliases = 0

  constructor(document: Document.Parsed) {
    this.#document = document
    this.fault = this.#look(document.contents)
  }

  #look(node: unknown): Found | null {
    if (this.#path.length > MAX_DEPTH) return this.#found(node, 'is nested too deeply')
    if (isAlias(node)) {
      if (this.#around.has(node.source)) return this.#found(node, 'is an alias of a part that it is in')
      return ++this.#aliases > MAX_ALIASES ? this.#found(node, `is more than alias ${MAX_ALIASES}`) : null
    }
    if (!isMap(node) && !isSeq(node)) return null
    if (node.anchor !== undefined) this.#around.add(node.anchor)
    const fault = isMap(node) ? this.#inMap(node.items) : this.#inList(node.items)
    if (node.anchor !== undefined) this.#around.delete(node.anchor)
    return fault
  }

  #inList(items: readonly unknown[]): Found | null {
    for (const [at, item] of items.entries()) {
      const fault = this.#below(at, item, item)
      if (fault) return fault
    }
    return null
  }

  #inMap(pairs: readonly { key: unknown; value: unknown }[]): Found | null {
    const known = new Set<string>()
    for (const { key, value } of pairs) {
      if (!isScalar(key)) return this.#found(key, 'has a key that is not a text')
      const name = String(key.value)
      if (known.has(name)) return this.#below(name, key, null, 'is there twice; keep one')
      known.add(name)
      const fault = this.#below(name, key, value)
      if (fault) return fault
    }
    return null
  }

  /** Visits a value, or reports its key. */
  #below(part: string | number, place: unknown, value: unknown, mistake?: string): Found | null {
    this.#path.push(part)
    const fault = mistake === undefined ? this.#look(value) : this.#found(place, mistake)
    this.#path.pop()
    return fault
  }

  #found(node: unknown, mistake: string): Found {
    const at = (isNode(node) ? node.range?.[0] : null) ?? this.#document.range[0]
    return { at, message: `${cut(this.#path.join('.')) || 'the catalogue'} ${mistake}.` }
  }
}
