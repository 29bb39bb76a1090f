import type { Terms } from '../http/contract/auth.ts'
import { costOf } from '../money.ts'
import type { Catalog } from './file.ts'
import type { Prices } from './prices.ts'

/** The catalogue at the prices of an account. A percentage of a price, as that of backups, stays as it is. */
export function withTerms(catalog: Catalog, terms: Terms): Catalog {
  if (terms.percent === 0 && Object.keys(terms.presets).length === 0) return catalog
  const { zones, limits, presets, templates, isos, operator, limitSteps } = catalog
  const prices = catalog.prices.map((entry) => ({ ...entry, prices: pricesWith(entry.prices, terms) }))
  return { zones, limits, presets, templates, isos, operator, limitSteps, prices }
}

function pricesWith(prices: Prices, { percent, presets }: Terms): Prices {
  const own = (price: number) => (percent === 0 ? price : costOf(100 + percent, price, 100))
  return {
    cpu: own(prices.cpu),
    ramGb: own(prices.ramGb),
    diskGb: own(prices.diskGb),
    ipv4: own(prices.ipv4),
    snapshotGb: own(prices.snapshotGb),
    volumeGb: own(prices.volumeGb),
    trafficTb: own(prices.trafficTb),
    backupsPercent: prices.backupsPercent,
    presets: new Map([
      ...[...prices.presets].map(([slug, price]) => [slug, own(price)] as const),
      ...Object.entries(presets),
    ]),
  }
}
