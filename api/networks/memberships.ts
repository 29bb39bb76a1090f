import { createHash } from 'node:crypto'
import type { PrivateCard } from '../drivers/driver.ts'
import { prefixLengthOf } from './ranges.ts'
import type { NetworkTable } from './tables.ts'

/** A server's row says in JSON which networks it is in. */
type Member = { networks: string }

/** A network, as the row of a member server stores it. */
interface Membership extends Pick<NetworkTable, 'network_id' | 'number' | 'ip_range'> {
  ipv4: string
}

export function membershipsOf({ networks }: Member): Membership[] {
  const memberships: Membership[] = JSON.parse(networks)
  return memberships
}

/** The cards of a server in its private networks. */
export function cardsOf(server: Member & { server_id: string }): PrivateCard[] {
  return membershipsOf(server).map(({ network_id, number, ip_range, ipv4 }) => ({
    network: number,
    mac: macOf(server.server_id, network_id),
    address: ipv4,
    prefixLength: prefixLengthOf(ip_range),
  }))
}

/** A locally administered address that follows from the ids, so that a card that comes back is the same. */
export function macOf(serverId: string, networkId: string): string {
  const digest = createHash('sha256').update(`${serverId} ${networkId}`).digest()
  return ['52', '54', ...[0, 1, 2, 3].map((at) => digest.toString('hex', at, at + 1))].join(':')
}
