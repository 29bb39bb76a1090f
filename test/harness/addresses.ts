import { type Catalog, parseCatalog } from '../../api/catalog/file.ts'
import { catalogText } from './app.ts'

/**
 * The sample catalogue, whose zone has public addresses.
 * @param ranges as the file has them, in a line each
 * @param monthRub price of an IPv4 address; without it they are free
 */
export function catalogWith(ranges: string, monthRub?: string): Catalog {
  const lines = ranges.replaceAll('\n', '\n    ')
  const text = catalogText.replace('overcommit:', `${lines}\n    overcommit:`)
  const price = 'disk_gb_month_rub: "6.00",'
  const priced = monthRub ? text.replaceAll(price, `${price} ipv4_month_rub: "${monthRub}",`) : text
  return parseCatalog(priced, 'catalog.yaml')
}
