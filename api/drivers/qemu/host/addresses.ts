import { isIPv4 } from 'node:net'
import { run } from './run.ts'

/** An address of this host, IPv4 or IPv6, and the card that it is on. */
export interface HostAddress {
  card: string
  address: string
}

/** Lists all addresses, including those of cards without a carrier, which Node's networkInterfaces leaves out. */
export async function hostAddresses(): Promise<HostAddress[]> {
  // As ip documents it: a list of objects, of which each field is tested before use.
  const cards = JSON.parse(await run(['ip', '-j', 'addr', 'show'])) as Shown[]
  return cards.flatMap(({ ifname = '', addr_info = [] }) =>
    addr_info.flatMap(({ local }) => (local ? [{ card: ifname, address: local }] : [])),
  )
}

interface Shown {
  ifname?: string
  addr_info?: { local?: string }[]
}

/** Returns the IPv4 address of a card; undefined if it has none or does not exist. */
export async function ipv4OfCard(card: string): Promise<string | undefined> {
  return (await hostAddresses()).find((own) => own.card === card && isIPv4(own.address))?.address
}
