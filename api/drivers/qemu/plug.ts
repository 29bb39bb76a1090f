import { DriverError, MOST_CARDS, type PrivateCard } from '../driver.ts'
import { privateCardOf } from './network/private.ts'
import type { Qmp } from './qmp.ts'

/** The private network cards that a machine should have, by the machine's number and its networks. */
export interface Plugs {
  number: number
  cards: readonly PrivateCard[]
}

const slotOf = (at: number) => `rp${at}`
/** QEMU's names for a card and for its host end. */
const idOf = (network: number) => `card${network}`
const CARD = /^card(\d+)$/
const device = (card: PrivateCard) => ({
  driver: 'virtio-net-pci',
  id: idOf(card.network),
  netdev: idOf(card.network),
  mac: card.mac,
  romfile: '',
  // A slot has one address that guests look at. QEMU 7 may choose another one by itself.
  addr: '0x0',
})
const tap = (number: number, card: PrivateCard) => ({
  type: 'tap',
  id: idOf(card.network),
  ifname: privateCardOf(number, card),
  script: 'no',
  downscript: 'no',
})

/** Returns QEMU's arguments for the slots, which can't be added later, and for the cards plugged from the start. */
export function slotArguments({ number, cards }: Plugs): string[] {
  const slots = Array.from({ length: MOST_CARDS }, (_, at) => {
    return ['-device', optionOf({ driver: 'pcie-root-port', id: slotOf(at), chassis: String(at + 1) })]
  })
  const plugged = cards.map((card, at) => [
    ...['-netdev', optionOf(tap(number, card))],
    ...['-device', optionOf({ ...device(card), bus: slotOf(at) })],
  ])
  return [...slots, ...plugged].flat()
}

/** Formats options for QEMU's command line, where the first is a name alone. */
export function optionOf(values: Record<string, string | number>): string {
  const [[, first = ''] = [], ...rest] = Object.entries(values)
  return [first, ...rest.map(([name, value]) => `${name}=${value}`)].join(',')
}

/** The slots for cards of one running machine. */
export class Slots {
  /** The networks that QEMU has cards in; null: unknown until QEMU is asked. */
  #plugged: string | null = null

  /** True if the machine is known to have exactly the cards that it should have. */
  hold({ cards }: Plugs): boolean {
    return this.#plugged === namesOf(cards)
  }

  /** Forgets the state, since another QEMU process runs the machine from now on. */
  forget(): void {
    this.#plugged = null
  }

  /**
   * Asks QEMU to add and to remove cards. QEMU removes a card when the guest releases it, and then reports it to
   * `released`.
   * @throws DriverError unsupported
   */
  async bring(qmp: Qmp, { number, cards }: Plugs): Promise<void> {
    this.#plugged = null
    const present = await plugged(qmp)
    const leaving = [...present].filter((network) => !cards.some((card) => card.network === network))
    // A second request to remove the same card is a harmless error.
    for (const network of leaving) await qmp.run('device_del', { id: idOf(network) }).catch(() => {})
    for (const card of cards) if (!present.has(card.network)) await plug(qmp, number, card)
    if (leaving.length === 0) this.#plugged = namesOf(cards)
  }

  /** Removes the host end of a card that the guest has released. */
  released(qmp: Qmp, id: unknown): void {
    this.#plugged = null
    if (typeof id === 'string' && CARD.test(id)) qmp.run('netdev_del', { id }).catch(() => {})
  }
}

/** @throws DriverError unsupported if a machine should have cards but can't have any */
export function refuseCards({ cards }: Plugs): void {
  if (cards.length > 0)
    throw new DriverError(
      'unsupported',
      'The machine is not in the network that private networks are part of',
    )
}

function namesOf(cards: readonly PrivateCard[]): string {
  return cards
    .map(({ network }) => network)
    .sort()
    .join()
}

async function plugged(qmp: Qmp): Promise<Set<number>> {
  const parts = await qmp.run('qom-list', { path: '/machine/peripheral' })
  // QEMU's schema: a list of { name: string, type: string }.
  const names = (parts as { name: string }[]).map(({ name }) => CARD.exec(name)?.[1])
  return new Set(names.filter((number) => number !== undefined).map(Number))
}

async function plug(qmp: Qmp, number: number, card: PrivateCard): Promise<void> {
  const id = idOf(card.network)
  // An earlier attempt may have ended at this point.
  await qmp.run('netdev_del', { id }).catch(() => {})
  await qmp.run('netdev_add', tap(number, card))
  let failure = ''
  // Only an attempt shows whether a slot is free.
  for (let at = 0; at < MOST_CARDS; at++) {
    try {
      await qmp.run('device_add', { ...device(card), bus: slotOf(at) })
      return
    } catch (error) {
      failure = String(error)
    }
  }
  await qmp.run('netdev_del', { id })
  throw new DriverError(
    'unsupported',
    `The running machine has no free slot for a network card; stop it and start it again (${failure})`,
  )
}
