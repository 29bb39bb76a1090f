import { isWithin } from '../cidrs.ts'
import type { FirewallRule } from './driver.ts'

/** A connection of a machine, with the side that opened it. */
export interface Connection {
  direction: FirewallRule['direction']
  protocol: 'tcp' | 'udp' | 'icmp'
  /** The guest's port for incoming connections, the other end's for outgoing ones; 0 if the protocol has none. */
  port: number
  /** The other end's address. */
  address: string
}

/** True if the rules restrict connections that the guest opens. */
export function judgesOut(rules: readonly FirewallRule[]): boolean {
  return rules.some(({ direction }) => direction === 'out')
}

/** True if a machine's firewall allows a connection. Drivers must do the same. */
export function isLet(rules: readonly FirewallRule[] | null, connection: Connection): boolean {
  if (rules === null || (connection.direction === 'out' && !judgesOut(rules))) return true
  return rules.some(
    ({ direction, protocol, ports, cidrs }) =>
      direction === connection.direction &&
      (protocol === 'any' || protocol === connection.protocol) &&
      (ports === null || (ports.first <= connection.port && connection.port <= ports.last)) &&
      isWithin(connection.address, cidrs),
  )
}
