import { type Catalog, parseCatalog } from '../../api/catalog/file.ts'
import { catalogText } from './app.ts'

/** The sample catalogue with euros beside rubles. */
export function withEuros(rubles = '98.50'): { catalog: Catalog } {
  const operator = `operator:\n  second_currency: { code: EUR, rubles: "${rubles}" }\n`
  return { catalog: parseCatalog(`${operator}${catalogText}`, 'catalog.yaml') }
}
