import { type Catalog, parseCatalog } from '../../api/catalog/file.ts'
import { catalogText } from './app.ts'

/** The sample catalogue with euros beside rubles. */
export function withEuros(more = ''): { catalog: Catalog } {
  const operator = `operator:\n  second_currency: { code: EUR, rubles: "98.50"${more} }\n`
  return { catalog: parseCatalog(`${operator}${catalogText}`, 'catalog.yaml') }
}

/** The same, and Stripe may be charged in euros. */
export const chargingEuros = (): { catalog: Catalog } => withEuros(', charged_by: [stripe]')
