import { FIREWALL } from './firewalls.ts'

/**
 * The contents of nftables' sets and maps, and the counters and chains. "inet berth ports" leads to the set's
 * elements, each with the value that it maps to ('' in a set). A table's counters are under "inet berth counter", its
 * limits with their rates under "inet berth limit", and its chains that come and go under "inet berth chain", with
 * one rule a line.
 */
export type Elements = Map<string, Map<string, string>>

/** Runs nft in the elements' network namespace with this input. */
export type Nft = (args: readonly string[], input: string) => Promise<string>

const [COUNTER, LIMIT, CHAIN] = ['counter', 'limit', 'chain']

/** Keeps the elements of some tables in the wanted state. Each change is one transaction of nft. */
export class ElementKeeper {
  readonly #nft: Nft
  readonly #tables: readonly string[]
  /** The last known elements; null: not read yet. */
  #present: Elements | null = null
  /** The number of rules when they were last read, without chains that come and go. */
  rules = 0

  /** @param tables the tables with their families, such as "inet berth" */
  constructor(nft: Nft, tables: readonly string[]) {
    this.#nft = nft
    this.#tables = tables
  }

  /** Updates the sets and maps that `wanted` names. @returns true if anything changed */
  async keep(wanted: Elements): Promise<boolean> {
    const trusted = this.#present !== null
    const present = this.#present ?? (await this.read())
    const lines = changes(present, wanted)
    try {
      await this.#run(lines)
    } catch (error) {
      this.#present = null
      if (!trusted) throw error
      await this.#run(changes(await this.read(), wanted))
    }
    this.#present = wanted
    return lines.length > 0
  }

  /** Like `keep`, but reads the kernel's state first. @returns true if anything was wrong */
  async mend(wanted: Elements): Promise<boolean> {
    const lines = changes(await this.read(), wanted)
    await this.#run(lines)
    this.#present = wanted
    return lines.length > 0
  }

  async read(): Promise<Elements> {
    const all: Elements = new Map()
    this.rules = 0
    for (const table of this.#tables) {
      const json = await this.#nft(['-j', 'list', 'table', ...table.split(' ')], '')
      const { nftables } = JSON.parse(json) as Listed // as nft documents it in libnftables-json(5)
      this.rules += nftables.filter(({ rule }) => rule && !comesAndGoes(rule.chain)).length
      for (const [place, elements] of elementsIn(nftables)) all.set(place, elements)
    }
    this.#present = all
    return all
  }

  async #run(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#nft(['-f', '-'], `${lines.join('\n')}\n`)
  }
}

/**
 * Returns lines of nft that lead from one state to the other: objects that elements refer to are created before them,
 * and deleted after them.
 */
function changes(present: Elements, wanted: Elements): string[] {
  const lines: [rank: number, line: string][] = []
  for (const [place, elements] of wanted) {
    const before = present.get(place) ?? new Map<string, string>()
    const kind = place.slice(place.lastIndexOf(' ') + 1)
    const table = place.slice(0, place.lastIndexOf(' '))
    for (const [key, value] of before) {
      if (kind === CHAIN && !elements.has(key))
        lines.push([3, emptied(table, key)], [4, `delete chain ${table} ${key}`])
      if (kind === CHAIN || elements.get(key) === value) continue
      if (isObject(kind) && elements.has(key)) continue
      lines.push(
        isObject(kind) ? [3, `delete ${kind} ${table} ${key}`] : [0, `delete element ${place} { ${key} }`],
      )
    }
    for (const [key, value] of elements) {
      if (kind === CHAIN && !isChain(before.get(key), value)) lines.push([1, chain(table, key, value)])
      if (kind === CHAIN || before.get(key) === value) continue
      if (isObject(kind) && before.has(key)) continue
      const element = value === '' ? key : `${key} : ${value}`
      lines.push(
        isObject(kind)
          ? [1, `add ${kind} ${table} ${key} ${value}`]
          : [2, `add element ${place} { ${element} }`],
      )
    }
  }
  return lines.sort(([a], [b]) => a - b).map(([, line]) => line)
}

/** True if elements refer to objects of this kind, whose name says everything about them. */
function isObject(kind: string): boolean {
  return kind === COUNTER || kind === LIMIT
}

function chain(table: string, name: string, rules: string): string {
  const added = rules.split('\n').map((rule) => `add rule ${table} ${name} ${rule}`)
  return [`add chain ${table} ${name}`, emptied(table, name), ...added].join('\n')
}

const emptied = (table: string, name: string) => `flush chain ${table} ${name}`

/**
 * True if a chain found in the kernel has these rules. Its name follows from the rules, so counting them is enough.
 */
function isChain(found: string | undefined, rules: string): boolean {
  return found === rules || found === String(rules.split('\n').length)
}

/** All other chains of a table stay as they are. */
const comesAndGoes = (chain: string) => chain.startsWith(FIREWALL)

/** Objects of nft's JSON: each has one key, which says what it is. */
interface Listed {
  nftables: {
    rule?: { chain: string }
    chain?: Named
    set?: ListedSet
    map?: ListedSet
    counter?: ListedSet & Counted
    limit?: Named
  }[]
}
interface Named {
  family: string
  table: string
  name: string
}
interface ListedSet extends Named {
  map?: string
  flags?: string[]
  elem?: unknown[]
}

function elementsIn(nftables: Listed['nftables']): Elements {
  const all: Elements = new Map()
  const counts = Map.groupBy(nftables, ({ rule }) => rule?.chain)
  for (const { chain, set, map, counter, limit } of nftables) {
    if (chain && comesAndGoes(chain.name)) {
      const place = `${chain.family} ${chain.table} ${CHAIN}`
      const count = String(counts.get(chain.name)?.length ?? 0)
      all.set(place, (all.get(place) ?? new Map()).set(chain.name, count))
    }
    const found = set ?? map
    if (found && !found.flags?.includes('dynamic'))
      all.set(`${found.family} ${found.table} ${found.name}`, new Map((found.elem ?? []).map(entry)))
    for (const [kind, object] of [
      [COUNTER, counter],
      [LIMIT, limit],
    ] as const) {
      if (!object) continue
      const place = `${object.family} ${object.table} ${kind}`
      all.set(place, (all.get(place) ?? new Map()).set(object.name, ''))
    }
  }
  return all
}

function entry(element: unknown): [string, string] {
  return Array.isArray(element) ? [text(element[0]), text(element[1])] : [text(element), '']
}

function text(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  // These are the forms that Berth's own elements can have.
  const { concat, elem, prefix, jump } = value as {
    concat?: unknown[]
    elem?: { val: unknown }
    prefix?: { addr: string; len: number }
    jump?: { target: string }
  }
  if (prefix) return `${prefix.addr}/${prefix.len}`
  if (jump) return `jump ${jump.target}`
  return concat ? concat.map(text).join(' . ') : text(elem?.val)
}

/** The figures of a counter. */
export interface Counted {
  packets: number
  bytes: number
}

/** Returns what the counters of a table have counted, by name. */
export async function countedBy(nft: Nft, table: string): Promise<Map<string, Counted>> {
  const json = await nft(['-j', 'list', 'counters', 'table', ...table.split(' ')], '')
  const { nftables } = JSON.parse(json) as Listed // as nft documents it in libnftables-json(5)
  return new Map(nftables.flatMap(({ counter }) => (counter ? [[counter.name, counter] as const] : [])))
}
