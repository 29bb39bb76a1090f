import { lookup } from 'node:dns/promises'
import { mkdtemp, rm } from 'node:fs/promises'
import { isIPv4, isIPv6 } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Semaphore } from '../../../concurrency.ts'
import { RESOLVER } from '../../addresses.ts'
import { DriverError, type PortRange, type PublicPools, type ServerNetwork } from '../../driver.ts'
import type { Log } from '../../log.ts'
import type { Traffic } from '../../measurement.ts'
import { hostAddresses } from '../host/addresses.ts'
import { hostResolver } from '../host/resolver.ts'
import { run } from '../host/run.ts'
import { type Card, cardLines, elementsOf, type HostElements, portsOf } from './cards.ts'
import { countedBy, ElementKeeper } from './elements.ts'
import { EndedCards } from './ended-traffic.ts'
import { HostUplink, type Uplink } from './host-uplink.ts'
import { type Namespace, networkId, openNamespace, UserSpace } from './namespace.ts'
import { OUTGOING_RULES, Recorder } from './outgoing.ts'
import { PastaUplink } from './pasta-uplink.ts'
import { connectPrivate, linksIn, type NetworkLink, placesOf } from './private.ts'
import { queuePackets } from './queues.ts'
import { BRIDGES_APART, cardOf, rules } from './rules.ts'

export interface GuestNetworkOptions {
  dataDir: string
  /** The host's address at which ports are published. */
  address: string
  /** The ports that may be published. */
  ports: PortRange
  /** Returns the current ranges that are routed to this host for machines' public addresses. */
  pools: () => PublicPools
  log: Log
  /** Returns the running machines that have cards in the network, from their records. */
  running: () => Promise<{ pid: number; card: Card }[]>
}

const LOOK_MS = 3_000
const TABLES = ['inet berth', 'arp berth', 'bridge berth']

/**
 * The network of all guests: a namespace of the installation with a routed card for each machine, shared rules, and
 * one uplink. The kernel's state is compared with the wanted one at start and every few seconds.
 */
export class GuestNetwork {
  readonly #options: GuestNetworkOptions
  readonly #id: string
  readonly #address: string
  readonly #cards = new Map<number, Card>()
  #space: Namespace
  #uplink: Uplink
  #keeper: ElementKeeper
  #rules = 0
  readonly #recorder: Recorder
  readonly #ended = new EndedCards()
  #canQueue = true
  #timer: NodeJS.Timeout | undefined
  readonly #calls = new Semaphore(1)

  private constructor(options: GuestNetworkOptions, id: string, address: string, space: Namespace) {
    this.#options = options
    this.#id = id
    this.#address = address
    this.#space = space
    this.#uplink = uplinkOf(space, id, address, options)
    this.#keeper = keeperIn(space)
    this.#recorder = new Recorder(options.dataDir)
  }

  /** @throws Error with what is missing for the network, as part of a sentence */
  static async open(options: GuestNetworkOptions): Promise<GuestNetwork> {
    const address = await ipv4Of(options.address)
    const id = networkId(options.dataDir)
    const running = await options.running()
    const space = await openSpace(id, running)
    const network = new GuestNetwork(options, id, address, space)
    for (const { card } of running) network.#cards.set(card.network.number, card)
    try {
      await network.#load()
    } catch (error) {
      await network.close()
      throw error
    }
    return network
  }

  /** Checks whether the network could be opened here, and leaves nothing behind. @throws Error as open does */
  static async trial(): Promise<void> {
    const dataDir = await mkdtemp(join(tmpdir(), 'berth-net-'))
    try {
      const log = { info: () => {}, warn: () => {}, error: () => {} }
      const pools = () => ({ ipv4: [], ipv6: [] })
      const none = { ports: { first: 0, last: -1 }, pools, running: async () => [], log }
      const network = await GuestNetwork.open({ dataDir, address: '127.0.0.1', ...none })
      await network.close()
    } finally {
      await rm(dataDir, { recursive: true, force: true })
    }
  }

  /** True if machines can have public addresses of their own. */
  get carriesPools(): boolean {
    return this.#uplink.carriesPools
  }

  /** The command prefix that starts a machine's process in the network. */
  get entrance(): readonly string[] {
    return this.#space.prefix
  }

  /**
   * Creates the card of a machine that is about to start.
   * @throws DriverError port_taken, unavailable
   */
  attach(card: Card): Promise<void> {
    return this.#calls.run(async () => {
      const { number, ports } = card.network
      const other = this.#cards.get(number)
      if (other && other.serverId !== card.serverId)
        throw new DriverError(
          'unavailable',
          `Machine ${other.serverId} also has the network number ${number}`,
        )
      for (const port of ports)
        if (await this.#uplink.isTaken(port))
          throw new DriverError(
            'port_taken',
            `Port ${port.hostPort} is in use by another program on this host`,
          )
      // The number may have been another machine's.
      await this.#record()
      const make = () => this.#inside(['ip', '-batch', '-'], cardLines(card).join('\n'))
      // A QEMU that was killed has left its card behind.
      await make().catch(() => this.#inside(['ip', 'link', 'delete', cardOf(number)]).then(make))
      this.#cards.set(number, card)
      if (card.network.cards.length > 0) await this.#connect()
      await this.#keep()
    })
  }

  /** Changes the networks of running machines, all at once. Machines without a card are ignored. */
  change(networks: ReadonlyMap<string, ServerNetwork>): Promise<void> {
    return this.#calls.run(async () => {
      let isMoved = false
      for (const [number, card] of this.#cards) {
        const network = networks.get(card.serverId)
        isMoved ||= network !== undefined && !isDeepStrictEqual(network.cards, card.network.cards)
        // The addresses are configured in the guest, and hold until its next start.
        if (network) this.#cards.set(number, { ...card, network: { ...network, number } })
      }
      if (isMoved) await this.#connect()
      await this.#keep()
    })
  }

  /**
   * Sets whether the service's own SSH probes pass a machine's firewall. This is not kept beyond the process, so each
   * prober sets it again.
   */
  async probe(serverId: string, isProbed: boolean): Promise<void> {
    const isToChange = ({ network, ...card }: Card) =>
      card.serverId === serverId && network.firewall !== null && (card.isProbed ?? false) !== isProbed
    if (![...this.#cards.values()].some(isToChange)) return
    await this.#calls.run(async () => {
      for (const [number, card] of this.#cards)
        if (isToChange(card)) this.#cards.set(number, { ...card, isProbed })
      await this.#keep()
    })
  }

  /** Removes a machine's card, if there is one. */
  detach(serverId: string): Promise<void> {
    return this.#calls.run(async () => {
      const found = [...this.#cards.values()].find((card) => card.serverId === serverId)
      if (!found) return
      await this.#record()
      const counted = await this.traffic().catch(() => null)
      this.#ended.add(serverId, counted?.get(serverId) ?? { rx: 0, tx: 0 })
      this.#cards.delete(found.network.number)
      await this.#keep()
      const names = [cardOf(found.network.number), ...placesOf(found).map(({ name }) => name)]
      for (const name of names) await this.#inside(['ip', 'link', 'delete', name]).catch(() => {})
    })
  }

  /**
   * Returns the bytes that machines received and sent since their cards were created, and what else is counted of
   * them, outside of the guests.
   */
  async traffic(): Promise<Map<string, Traffic>> {
    const counted = await countedBy((args) => this.#inside(['nft', ...args]), 'inet berth')
    const found = [...this.#cards].flatMap(([number, { serverId }]) => {
      const of = (what: string) => counted.get(`${what}_${cardOf(number)}`)
      const [rx, tx] = [of('rx'), of('tx')]
      if (!rx || !tx) return []
      const counts = {
        rxPackets: rx.packets,
        txPackets: tx.packets,
        opened: of('opened')?.packets ?? null,
        mailsRefused: of('mails')?.packets ?? null,
      }
      return [[serverId, { rx: rx.bytes, tx: tx.bytes, counts, ended: this.#ended.of(serverId) }] as const]
    })
    return new Map(found)
  }

  /** Starts to look every few seconds, so that guests soon have their network back whatever broke it. */
  watch(): void {
    let isLooking = false
    this.#timer = setInterval(() => {
      if (isLooking) return
      isLooking = true
      this.look()
        .catch((error: unknown) => this.#options.log.error({ err: error }, 'The network of guests is broken'))
        .finally(() => {
          isLooking = false
        })
    }, LOOK_MS).unref()
  }

  /** Compares the whole network with the wanted state and repairs it. */
  look(): Promise<void> {
    return this.#calls.run(async () => {
      const mended: string[] = []
      const present = await this.#links().catch(() => null)
      if (present === null) {
        await this.#reopen()
        mended.push('its namespace')
      } else {
        if (!(await this.#uplink.isUp())) {
          await this.#uplink.raise()
          mended.push('its way out')
        }
        await this.#lead()
        const wanted = await this.#wanted()
        // The host's own addresses may change: that is no damage.
        if (await this.#keeper.keep(wanted).catch(() => false))
          this.#options.log.info({}, 'The network of guests was adapted to the addresses of this host')
        const isRight = !(await this.#keeper.mend(wanted).catch(() => true))
        if (this.#keeper.rules !== this.#rules) {
          await this.#load()
          mended.push('its rules')
        } else if (!isRight) mended.push('the elements of its rules')
        const stray = cardsIn(present).filter(({ isUsed, number }) => !isUsed && !this.#cards.has(number))
        const lines = stray.map(({ number }) => `link delete ${cardOf(number)}`)
        if (lines.length > 0) await this.#inside(['ip', '-batch', '-'], lines.join('\n'))
        if (await this.#connect(present)) mended.push('its private networks')
        if (await this.#queue()) mended.push('its queues')
        if (!(await this.#record())) {
          await this.#inside(['nft', '-f', '-'], OUTGOING_RULES)
          mended.push('its record of connections')
        }
        if ((await this.#inside(['sh', '-c', BRIDGES_APART])) !== '') mended.push('its bridges')
      }
      if (mended.length > 0)
        this.#options.log.warn({ mended: mended.join(', ') }, 'The network of guests was repaired')
    })
  }

  /** Closes the network, which stays for running machines and is removed if there are none. */
  close(): Promise<void> {
    clearInterval(this.#timer)
    return this.#calls.run(async () => {
      await this.#record()
      if (this.#cards.size > 0) return
      await this.#recorder.rest().catch(() => {})
      await this.#uplink.remove().catch(() => {})
      await this.#space.remove().catch(() => {})
    })
  }

  /** Loads the rules before the uplink exists, so that nothing passes without them. */
  async #load(): Promise<void> {
    await this.#record()
    await this.#inside(['nft', '-f', '-'], `${rules(this.#uplink.ports)}${OUTGOING_RULES}`)
    await this.#keeper.mend(await this.#wanted())
    this.#rules = this.#keeper.rules
    await this.#uplink.raise()
    await this.#queue()
    await this.#lead()
  }

  /** Writes new connections of guests down. @returns false if the rules that note them are missing */
  async #record(): Promise<boolean> {
    const serverOf = (card: string) => this.#cards.get(Number(card.slice(1)))?.serverId ?? `unknown-${card}`
    const nft = (args: readonly string[], input: string) => this.#inside(['nft', ...args], input)
    try {
      return await this.#recorder.collect(nft, this.#uplink.keeping, serverOf)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'Connections of guests could not be recorded')
      return true
    }
  }

  async #reopen(): Promise<void> {
    this.#space = await openSpace(this.#id, await this.#options.running())
    this.#uplink = uplinkOf(this.#space, this.#id, this.#address, this.#options)
    this.#keeper = keeperIn(this.#space)
    await this.#load()
  }

  #lead(): Promise<void> {
    return this.#uplink.lead(new Set(portsOf([...this.#cards.values()]).keys()), this.#options.pools())
  }

  async #keep(): Promise<void> {
    await this.#keeper.keep(await this.#wanted())
    await this.#queue()
    await this.#lead()
  }

  async #wanted() {
    const pools = this.carriesPools ? this.#options.pools() : null
    return elementsOf([...this.#cards.values()], RESOLVER, {
      ...(await hostElements(this.#address)),
      pools,
      isQueued: this.#uplink.isQueued,
    })
  }

  /** @returns true if something was missing */
  async #queue(): Promise<boolean> {
    if (!this.#uplink.isQueued) return false
    const networks = [...this.#cards.values()].map(({ network }) => network)
    try {
      return await queuePackets(networks, (command, input) => this.#inside(command, input))
    } catch (error) {
      // A kernel without these queues leaves guests their network: the limits of the rules still hold.
      if (this.#canQueue) this.#options.log.warn({ err: error }, 'Packets of guests can only be dropped')
      this.#canQueue = false
      return false
    }
  }

  /** Connects private networks as the cards say. @returns true if something was missing */
  async #connect(links?: readonly NetworkLink[]): Promise<boolean> {
    const present = links ?? (await this.#links())
    return connectPrivate([...this.#cards.values()], present, (command, input) =>
      this.#inside(command, input),
    )
  }

  #links(): Promise<NetworkLink[]> {
    return linksIn((command) => this.#inside(command))
  }

  #inside(command: readonly string[], input = ''): Promise<string> {
    return run([...this.#space.prefix, ...command], input)
  }
}

function uplinkOf(space: Namespace, id: string, address: string, options: GuestNetworkOptions): Uplink {
  const { dataDir, ports: range } = options
  return space instanceof UserSpace
    ? new PastaUplink(space, { id, address, range, log: join(dataDir, 'pasta.log') })
    : new HostUplink(space, id, address)
}

/** Lists the cards of machines in the namespace. */
function cardsIn(links: readonly NetworkLink[]): { number: number; isUsed: boolean }[] {
  return links.flatMap(({ ifname = '', flags = [] }) => {
    const [, number] = /^g(\d+)$/.exec(ifname) ?? []
    return number ? [{ number: Number(number), isUsed: !flags.includes('NO-CARRIER') }] : []
  })
}

/** @param members processes that are in the namespace */
function openSpace(id: string, members: readonly { pid: number }[]): Promise<Namespace> {
  return openNamespace(
    `berth-${id}`,
    members.map(({ pid }) => pid),
  )
}

function keeperIn(space: Namespace): ElementKeeper {
  return new ElementKeeper((args, input) => run([...space.prefix, 'nft', ...args], input), TABLES)
}

async function ipv4Of(address: string): Promise<string> {
  if (address === '::') return '0.0.0.0'
  if (isIPv6(address)) throw new Error(`ports can't be published at an IPv6 address, ${address}`)
  return isIPv4(address) ? address : (await lookup(address, 4)).address
}

async function hostElements(address: string): Promise<Omit<HostElements, 'pools' | 'isQueued'>> {
  const addresses = (await hostAddresses()).map(({ address }) => address)
  const own = (isIt: (address: string) => boolean) => [
    ...new Set(addresses.filter((own) => isIt(own) && !own.startsWith('127.'))),
  ]
  const host4 = own(isIPv4)
  const open4 = address === '0.0.0.0' ? host4 : host4.filter((own) => own === address)
  return { resolver: await hostResolver(), host4, host6: own(isIPv6), open4 }
}
