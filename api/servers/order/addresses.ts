import { takeForServer } from '../../addresses/addresses.ts'
import { addressPrice, type Family } from '../../addresses/taking.ts'
import { addressItem } from '../../catalog/plans.ts'
import type { Asked, OrderPart, PartPrice } from './part.ts'

/** Adds a public address (default: if the zone has addresses of this family). */
export function addressPart(asked: Asked, family: Family): OrderPart {
  const { options, catalog, request, zone, features } = asked
  const isWanted = request[`enable_${family}`] ?? features.includes(`public_${family}`)
  if (!isWanted || !zone) return {}
  return {
    price: priceOf(asked, family),
    check: (server) => options.capacity.require(server, `public_${family}`),
    take: async (tx, { server }) => ({
      [family]: await takeForServer(tx, catalog, zone, server, family),
    }),
  }
}

/** IPv6 is free, and not an item of a quote. */
function priceOf({ catalog, zone, at }: Asked, family: Family): PartPrice | null {
  if (family === 'ipv6' || !zone) return null
  const price = addressPrice(catalog, zone, family, at)
  return { ...price, item: addressItem(price.price_month) }
}
