import { labelsOf } from '../database/labels.ts'
import { isoTime } from '../http/contract/fields.ts'
import { formatMoney } from '../money.ts'
import type { Address } from './schema.ts'
import type { AddressTable } from './tables.ts'

export function addressView(row: AddressTable): Address {
  return {
    address_id: row.address_id,
    address: row.address,
    family: row.family,
    zone_slug: row.zone_slug,
    server_id: row.server_id,
    reverse_dns: row.reverse_dns,
    labels: labelsOf(row),
    price_month_rub: formatMoney(row.price_month),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}

/** Returns a server's own IPv6 address in its /64. */
export function ipv6Of(network: string | null): string | null {
  return network === null ? null : network.replace(/::\/64$/, '::2')
}
