import { DriverError, MOST_CARDS, type PrivateCard } from '../driver.ts'
import { privateCardOf } from './network/private.ts'
import type { Qmp } from './qmp.ts'

/** A machine's cards in private networks, by the machine's number and networks: those that it should have. */
export interface Plugs {
  number: number
  cards: readonly PrivateCard[]
}

const slotOf = (at: number) => `rp${at}`
/** What QEMU calls a card, and what it calls the card's other end. */
const idOf = (network: number) => `card${network}`
const CARD = /^card(\d+)$/
const device = (card: PrivateCard) => ({
  driver: 'virtio-net-pci',
  id: idOf(card.network),
  netdev: idOf(card.network),
  mac: card.mac,
  romfile: '',
  // A slot's only place. Left to itself, QEMU 7 goes on to places that no guest looks at.
  addr: '0x0',
})
const tap = (number: number, card: PrivateCard) => ({
  type: 'tap',
  id: idOf(card.network),
  ifname: privateCardOf(number, card),
  script: 'no',
  downscript: 'no',
})

/** QEMU's arguments for slots, as none can be added later, and for the cards that are in them from the start. */
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

/** As QEMU's command line has it: the first is a name alone. */
function optionOf(values: Record<string, string>): string {
  const [[, first = ''] = [], ...rest] = Object.entries(values)
  return [first, ...rest.map(([name, value]) => `${name}=${value}`)].join(',')
}

/** The slots of one machine while it is on. */
export class Slots {
  /** The networks that QEMU has cards in; null: it has to be asked. */
  #plugged: string | null = null

  /** Whether a machine is known to have the cards that it should have. */
  hold({ cards }: Plugs): boolean {
    return this.#plugged === namesOf(cards)
  }

  /** Another QEMU runs the machine from now on. */
  forget(): void {
    this.#plugged = null
  }

  /**
   * Asks QEMU to take and to give up cards. It gives one up when the guest lets go of it: then `released` is called.
   * @throws DriverError unsupported
   */
  async bring(qmp: Qmp, { number, cards }: Plugs): Promise<void> {
    this.#plugged = null
    const present = await plugged(qmp)
    const leaving = [...present].filter((network) => !cards.some((card) => card.network === network))
    // Asking twice is an error of no consequence.
    for (const network of leaving) await qmp.run('device_del', { id: idOf(network) }).catch(() => {})
    for (const card of cards) if (!present.has(card.network)) await plug(qmp, number, card)
    if (leaving.length === 0) this.#plugged = namesOf(cards)
  }

  /** A part of the machine is gone: of a card, its other end goes too. */
  released(qmp: Qmp, id: unknown): void {
    this.#plugged = null
    if (typeof id === 'string' && CARD.test(id)) qmp.run('netdev_del', { id }).catch(() => {})
  }
}

/** @throws DriverError unsupported, where a machine should have cards that it can't have */
export function refuseCards({ cards }: Plugs): void {
  if (cards.length > 0)
    throw new DriverError('unsupported', 'The machine is not in the network that private ones belong to')
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
  // An earlier try may have come so far.
  await qmp.run('netdev_del', { id }).catch(() => {})
  await qmp.run('netdev_add', tap(number, card))
  let failure = ''
  // Whether a slot is free QEMU says when it is used.
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
