import { createHash } from 'node:crypto'
import { networkAround, rangeOf } from '../../cidrs.ts'
import { MOST_CARDS, type PrivateCard } from '../driver.ts'

/** The gateway of all routed cards: Incus sets it up on each member. */
export const ROUTED_GATEWAY = '169.254.0.1'

/** The configuration of a device in Incus. */
export type Device = Readonly<Record<string, string>>
export type Devices = Readonly<Record<string, Device>>

/** Returns the prefix of a project's private network names, since other projects may share their namespace. */
export function prefixFor(project: string): string {
  return `b-${createHash('sha256').update(project).digest('hex').slice(0, 8)}-`
}

/** Returns the range of a card's network, and its router. */
export function networkOfCard({ address, prefixLength }: PrivateCard): { range: string; router: string } {
  const range = networkAround(`${address}/${prefixLength}`) ?? ''
  return { range, router: `${rangeOf(range).at(1n)}/${prefixLength}` }
}

/** The name contains everything that defines a network, so that an existing one is always the right one. */
export function networkName(card: PrivateCard, prefix: string): string {
  return `${prefix}n${card.network}-${networkOfCard(card).range.replaceAll(/[./]/g, '-')}`
}

/** The devices of a machine's private cards. A card keeps its name in the guest. */
export function privateDevices(held: Devices | null, cards: readonly PrivateCard[], prefix: string): Devices {
  const nameOf = (card: PrivateCard) => held?.[deviceOf(card)]?.name
  const taken = cards.map(nameOf)
  const free = Array.from({ length: MOST_CARDS }, (_, at) => `eth${at + 1}`)
    .filter((name) => !taken.includes(name))
    .values()
  const devices = cards.map((card): [string, Device] => {
    const network = networkName(card, prefix)
    const name = nameOf(card) ?? free.next().value ?? ''
    return [deviceOf(card), { type: 'nic', network, name, hwaddr: card.mac, 'ipv4.address': card.address }]
  })
  return Object.fromEntries(devices)
}

/** Lists the networks that a machine has cards in. */
export function privateNetworks(devices: Devices | null, prefix: string): string[] {
  return Object.values(devices ?? {}).flatMap(({ network }) => (network?.startsWith(prefix) ? [network] : []))
}

/** Returns the wanted cards that a machine already has unchanged. */
export function heldCards(
  held: Devices | null,
  cards: readonly PrivateCard[],
  prefix: string,
): PrivateCard[] {
  return cards.filter((card) => {
    const { network, hwaddr, 'ipv4.address': address } = held?.[deviceOf(card)] ?? {}
    return network === networkName(card, prefix) && hwaddr === card.mac && address === card.address
  })
}

function deviceOf({ network }: PrivateCard): string {
  return `n${network}`
}

/** Lists the names of a machine's private cards in its guest. */
export function privateNames(devices: Devices | null): string[] {
  return Object.entries(devices ?? {}).flatMap(([device, { name = '' }]) =>
    /^n\d+$/.test(device) ? [name] : [],
  )
}

/** Repeats the addresses that Incus sets on the card, because images would otherwise use DHCP. */
export function networkConfig(address: string, nameservers: readonly string[]): string {
  const eth0 = {
    addresses: [`${address}/32`],
    routes: [{ to: '0.0.0.0/0', via: ROUTED_GATEWAY, 'on-link': true }],
    nameservers: { addresses: nameservers },
  }
  return configText({ eth0 })
}

/** Adds the machine's current private cards to its configuration, for its next boot. */
export function withPrivate(config: string, devices: Devices, cards: readonly PrivateCard[]): string {
  const before: { ethernets: Record<string, object> } = JSON.parse(config)
  const inner = cards.flatMap((card) => {
    const { name } = devices[deviceOf(card)] ?? {}
    const asks = { dhcp4: false, dhcp6: false, 'accept-ra': false, optional: true }
    const addresses = [`${card.address}/${card.prefixLength}`]
    return name === undefined ? [] : [[name, { match: { macaddress: card.mac }, ...asks, addresses }]]
  })
  return configText({ eth0: before.ethernets.eth0 ?? {}, ...Object.fromEntries(inner) })
}

function configText(ethernets: object): string {
  return `${JSON.stringify({ version: 2, ethernets })}\n`
}
