import type { PrivateCard, ServerNetwork } from '../driver.ts'
import type { Log } from '../log.ts'
import { heldCards, networkName, networkOfCard } from './cards.ts'
import { at, type IncusClient } from './client.ts'
import { IncusError, unless } from './errors.ts'
import { connected, type Instance, type Surroundings } from './instance.ts'

/** Between two looks for what nobody uses any more. */
const SWEEP_MS = 300_000

/** As lists of the cluster show what may be in use. */
interface Listed {
  name: string
  used_by: string[] | null
}

/** Of an instance: which files its image has written, and when. */
interface Metadata {
  templates: Record<string, { when: string[] }> | null
}

/** What leads to machines: their ports, and private networks, which are of OVN so that servers of all members meet. */
export class Networks {
  readonly #client: IncusClient
  readonly #around: Surroundings
  readonly #making = new Map<string, Promise<unknown>>()
  /** Paths of what was unused at the last look. */
  #unused: ReadonlySet<string> = new Set()
  readonly #timer: NodeJS.Timeout | undefined

  constructor(client: IncusClient, around: Surroundings, log: Log) {
    this.#client = client
    this.#around = around
    if (around.uplink === null) return
    const sweep = () =>
      this.sweep().catch((error: unknown) =>
        log.warn({ err: error }, 'Private networks that nobody uses could not be deleted'),
      )
    this.#timer = setInterval(sweep, SWEEP_MS).unref()
  }

  /**
   * Brings a machine to what leads to it. New cards come last, so that what is wrong with them holds up nothing else.
   * @param write changes the instance as it is by then
   * @throws IncusError
   */
  async connect(
    instance: Instance,
    network: ServerNetwork,
    write: (change: (found: Instance) => object | null) => Promise<void>,
  ): Promise<void> {
    const { uplink, prefix } = this.#around
    const bring = async (cards: readonly PrivateCard[]) => {
      const wanted = { ...network, cards }
      await write((found) => connected(found, wanted, this.#around))
    }
    const held = heldCards(instance.devices, network.cards, prefix)
    const missing = network.cards.filter((card) => !held.includes(card))
    if (missing.length === 0 || network.isCut || uplink === null) {
      if (connected(instance, network, this.#around) !== null) await bring(network.cards)
      return
    }
    await bring(held)
    await this.#followCards(instance.name)
    await Promise.all(missing.map((card) => this.#ensure(card)))
    await bring(network.cards)
    // Until the card is in its place, the network counts as unused: another process may have deleted it.
    const found = await Promise.all(missing.map((card) => this.#statusOf(networkName(card, prefix))))
    if (found.every((status) => status === 'Created')) return
    await bring(held)
    throw new IncusError(0, 'A private network was deleted meanwhile')
  }

  /** Deletes the networks, and then their rules, that were unused at the last call and are so still. */
  async sweep(): Promise<void> {
    const unused = new Set<string>()
    for (const kind of ['networks', 'network-acls']) {
      const all = await this.#client.get<Listed[]>(at(`/1.0/${kind}`, { recursion: '1' }))
      for (const { name, used_by } of all) {
        const path = `/1.0/${kind}/${name}`
        if (!name.startsWith(this.#around.prefix) || used_by?.length) continue
        unused.add(path)
        if (this.#unused.has(path)) await this.#client.call('DELETE', path).catch(unless('missing', 'in_use'))
      }
    }
    this.#unused = unused
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** A machine's seed names its cards at each start; of itself Incus writes it before the first only. */
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

  async #statusOf(name: string): Promise<string | null> {
    const path = `/1.0/networks/${name}`
    const found = await this.#client.get<{ status: string }>(path).catch(unless('missing'))
    return found?.status ?? null
  }

  /** Once for all who ask at the same time. */
  #ensure(card: PrivateCard): Promise<unknown> {
    const name = networkName(card, this.#around.prefix)
    const making = this.#making.get(name) ?? this.#make(name, card).finally(() => this.#making.delete(name))
    this.#making.set(name, making)
    return making
  }

  /** With a router to the uplink, as Incus 6.0 needs one; by its rules nothing gets there. */
  async #make(name: string, card: PrivateCard): Promise<void> {
    const status = await this.#statusOf(name)
    if (status === 'Created') return
    // A member was offline when it was to be made: Incus can't finish it.
    if (status === 'Errored')
      await this.#client.call('DELETE', `/1.0/networks/${name}`).catch(unless('missing'))
    const { router, range } = networkOfCard(card)
    const rule = { action: 'allow', state: 'enabled', source: range, destination: range }
    const rules = { name, description: DESCRIPTION, ingress: [rule], egress: [rule] }
    await this.#client.call('POST', '/1.0/network-acls', { body: rules }).catch(unless('exists'))
    const config = {
      network: this.#around.uplink,
      'ipv4.address': router,
      'ipv4.nat': 'true',
      'ipv6.address': 'none',
      'security.acls': name,
      'security.acls.default.ingress.action': 'drop',
      'security.acls.default.egress.action': 'drop',
    }
    const body = { name, type: 'ovn', description: DESCRIPTION, config }
    await this.#client.call('POST', '/1.0/networks', { body }).catch(unless('exists'))
  }
}

const DESCRIPTION = 'A private network of Berth'
