import type { PrivateCard } from '../driver.ts'

/** Returns the script that gives a guest's card its address. It is safe to run twice, and fails without the card. */
export function addressScript({ mac, address, prefixLength }: PrivateCard): string {
  return [
    `for n in /sys/class/net/*; do grep -q ${mac} $n/address || continue`,
    `ip addr add ${address}/${prefixLength} dev \${n##*/} 2>/dev/null`,
    `ip link set \${n##*/} up; exit; done; exit 1`,
  ].join('; ')
}

/**
 * Reads from an agent's list of interfaces whether a card has its address. The guest's owner writes the list, so no
 * part of it is taken for granted.
 */
export function hasAddress(interfaces: unknown, { mac, address }: PrivateCard): boolean {
  return listOf(interfaces).some(
    (one) =>
      String(Object(one)['hardware-address']).toLowerCase() === mac &&
      listOf(Object(one)['ip-addresses']).some((own) => Object(own)['ip-address'] === address),
  )
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
