import { randomUUID } from 'node:crypto'
import type { PrivateCard, ServerNetwork } from '../driver.ts'
import type { Log } from '../log.ts'
import { type Devices, heldCards, networkName, networkOfCard, privateNetworks } from './cards.ts'
import { at, type IncusClient } from './client.ts'
import { IncusError, unless } from './errors.ts'
import { connected, type Instance, type Surroundings } from './instance.ts'

/** Milliseconds between sweeps for unused networks. */
const SWEEP_MS = 120_000

/** A resource in lists of the cluster, with its users. */
interface Listed {
  name: string
  description: string
  used_by: string[] | null
}

interface Network extends Listed {
  status: string
  config: Readonly<Record<string, string>>
}

/** Metadata of an instance: the files that its image has written, and when. */
interface Metadata {
  templates: Record<string, { when: string[] }> | null
}

/** Connects machines: their ports, and private networks, which use OVN so that servers of all members meet. */
export class Networks {
  readonly #client: IncusClient
  readonly #around: Surroundings
  readonly #making = new Map<string, Promise<string>>()
  /** Keys of the resources that were unused at the last sweep. */
  #unused: ReadonlySet<string> = new Set()
  readonly #timer: NodeJS.Timeout | undefined
  /** Reports an error whose cleanup is left to the next sweep. */
  readonly #warn: (error: unknown) => void

  constructor(client: IncusClient, around: Surroundings, log: Log) {
    this.#client = client
    this.#around = around
    this.#warn = (error) => log.warn({ err: error }, 'Unused private networks could not be deleted')
    if (around.uplink === null) return
    this.#timer = setInterval(() => this.sweep().catch(this.#warn), SWEEP_MS).unref()
  }

  /**
   * Sets the network of a machine. New cards come last, so that a failure with them delays nothing else.
   * @param write changes the instance, read anew
   * @throws IncusError
   */
  async connect(
    instance: Instance,
    network: ServerNetwork,
    write: (change: (found: Instance) => object | null) => Promise<void>,
  ): Promise<void> {
    const { uplink, prefix } = this.#around
    const wanted = network.isCut ? [] : network.cards.map((card) => networkName(card, prefix))
    const bring = async (cards: readonly PrivateCard[]) => {
      let before: Devices | null = null
      await write((found) => {
        before = found.devices
        return connected(found, { ...network, cards }, this.#around)
      })
      await this.leave(before, wanted)
    }
    const held = heldCards(instance.devices, network.cards, prefix)
    const missing = network.cards.filter((card) => !held.includes(card))
    if (missing.length === 0 || network.isCut || uplink === null) {
      if (connected(instance, network, this.#around) !== null) await bring(network.cards)
      return
    }
    await bring(held)
    await this.#followCards(instance.name)
    const made = await Promise.all(missing.map((card) => this.#ensure(card)))
    await bring(network.cards).catch(orMeanwhile)
    // Until the card exists, the network counts as unused, so another process may have deleted it.
    const now = await Promise.all(missing.map((card) => this.#look(networkName(card, prefix))))
    if (now.every(({ isWhole, id }, at) => isWhole && id === made[at])) return
    await bring(held)
    throw meanwhile()
  }

  /**
   * Deletes the networks of removed cards if no other machine is in them: each takes an address of the uplink. The
   * sweep deletes those that can't be deleted now.
   */
  async leave(devices: Devices | null, wanted: readonly string[] = []): Promise<void> {
    const left = privateNetworks(devices, this.#around.prefix).filter((name) => !wanted.includes(name))
    // They are deleted one by one: Incus keeps rules if a network vanishes while it looks for their users.
    for (const name of left) await this.#delete(name).catch(this.#warn)
  }

  /** Deletes networks, rules and marks that were unused at the last call and still are. */
  async sweep(): Promise<void> {
    const unused = new Set<string>()
    const list = async (kind: string) => {
      const all = await this.#client.get<Listed[]>(at(`/1.0/${kind}`, { recursion: '1' }))
      const found = all.filter(
        ({ name, used_by }) => name.startsWith(this.#around.prefix) && !used_by?.length,
      )
      // A newer mark of the same name has another description.
      const keyed = found.map(({ name, description }) => ({ name, key: `${kind} ${name} ${description}` }))
      for (const { key } of keyed) unused.add(key)
      return keyed.filter(({ key }) => this.#unused.has(key)).map(({ name }) => name)
    }
    const networks = await list('networks')
    const rules = await list('network-acls')
    for (const name of networks) await this.#delete(name, { isMarked: rules.includes(markOf(name)) })
    for (const name of rules) await this.#deleteRules(name)
    this.#unused = unused
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Lets Incus write a machine's seed, which names its cards, before each start: by default it writes it only once. */
  async #followCards(name: string): Promise<void> {
    const path = at(`/1.0/instances/${name}/metadata`, { project: this.#around.project })
    const metadata = await this.#client.get<Metadata>(path)
    const old = Object.entries(metadata.templates ?? {}).filter(
      ([file, { when }]) => file.endsWith('/network-config') && !when.includes('start'),
    )
    if (old.length === 0) return
    const renewed = old.map(([file, template]) => [file, { ...template, when: [...template.when, 'start'] }])
    const templates = { ...metadata.templates, ...Object.fromEntries(renewed) }
    await this.#client.call('PUT', path, { body: { ...metadata, templates } })
  }

  /**
   * Deletes a network under a mark. Incus looks for users of a network only when it begins to delete it, so a process
   * that adds a card meanwhile must find either the mark or no network. After a failure the mark stays, because the
   * network may be incomplete.
   */
  async #delete(name: string, { isMarked } = { isMarked: false }): Promise<void> {
    const found = await this.#find<Network>(`${NETWORKS}/${name}`)
    if (found === null || found.used_by?.length) return
    const mark = { name: markOf(name), description: randomUUID() }
    const isOurs = await this.#client.call('POST', RULES, { body: mark }).catch(unless('exists'))
    if (isOurs === null && !isMarked) return
    await this.#client.call('DELETE', `${NETWORKS}/${name}`).catch(unless('missing', 'in_use'))
    try {
      await this.#deleteRules(name)
    } finally {
      await this.#deleteRules(mark.name)
    }
  }

  async #deleteRules(name: string): Promise<void> {
    await this.#client.call('DELETE', `${RULES}/${name}`).catch(unless('missing', 'in_use'))
  }

  /** Lists the mark first, because it is deleted after the network. */
  async #look(
    name: string,
  ): Promise<{ isGoing: boolean; isWhole: boolean; status: string | null; id: string }> {
    const isGoing = (await this.#find(`${RULES}/${markOf(name)}`)) !== null
    const found = await this.#find<Network>(`${NETWORKS}/${name}`)
    const status = found?.status ?? null
    return { isGoing, isWhole: !isGoing && status === 'Created', status, id: found?.config[ID] ?? '' }
  }

  #find<T>(path: string): Promise<T | null> {
    return this.#client.get<T>(path).catch(unless('missing'))
  }

  /** Creates a network once for all simultaneous callers. @returns its identity among networks of the same name */
  #ensure(card: PrivateCard): Promise<string> {
    const name = networkName(card, this.#around.prefix)
    const making = this.#making.get(name) ?? this.#make(name, card).finally(() => this.#making.delete(name))
    this.#making.set(name, making)
    return making
  }

  /** Creates the network with a router to the uplink, which Incus 6.0 requires; its rules block all traffic to it. */
  async #make(name: string, card: PrivateCard): Promise<string> {
    const { isGoing, isWhole, status, id } = await this.#look(name)
    if (isWhole) return id
    if (isGoing) throw meanwhile()
    // A member was offline when the network was created, and Incus can't finish it.
    if (status === 'Errored')
      await this.#client.call('DELETE', `${NETWORKS}/${name}`).catch(unless('missing'))
    const { router, range } = networkOfCard(card)
    const rule = { action: 'allow', state: 'enabled', source: range, destination: range }
    const rules = { name, description: DESCRIPTION, ingress: [rule], egress: [rule] }
    await this.#client.call('POST', RULES, { body: rules }).catch(unless('exists'))
    const config = {
      network: this.#around.uplink,
      'ipv4.address': router,
      'ipv4.nat': 'true',
      'ipv6.address': 'none',
      'security.acls': name,
      'security.acls.default.ingress.action': 'drop',
      'security.acls.default.egress.action': 'drop',
      [ID]: randomUUID(),
    }
    const body = { name, type: 'ovn', description: DESCRIPTION, config }
    await this.#client.call('POST', NETWORKS, { body }).catch(unless('exists')).catch(orMeanwhile)
    const made = await this.#look(name)
    if (!made.isWhole) throw meanwhile()
    return made.id
  }
}

const NETWORKS = '/1.0/networks'
const RULES = '/1.0/network-acls'
const DESCRIPTION = 'A private network of Berth'
/** The identity of a network, which an earlier one of the same name does not share. */
const ID = 'user.berth.id'

/** Unused rules serve as marks: they are created once, atomically and for all members, even offline ones. */
function markOf(name: string): string {
  return `${name}-going`
}

/** A temporary failure: the next attempt succeeds. */
function meanwhile(): IncusError {
  return new IncusError(0, 'A private network was deleted meanwhile')
}

function orMeanwhile(error: unknown): never {
  throw error instanceof IncusError && error.refusal === 'missing' ? meanwhile() : error
}
