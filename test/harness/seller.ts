import { type Catalog, parseCatalog } from '../../api/catalog/file.ts'
import { catalogText } from './app.ts'

export const VAT_INCLUDED = '{ percent: "20", is_included: true }'
export const VAT_ADDED = '{ percent: "20", is_included: false }'

/** The sample catalogue with a legal entity that issues documents. */
export function selling({ vat = VAT_INCLUDED, from = '2026-11', taxId = '7700000000', prefix = '' } = {}): {
  catalog: Catalog
} {
  const seller = [
    'name: ООО "Пример"',
    'address: Москва, ул. Примерная, 1',
    `tax_id: "${taxId}"`,
    `first_month: ${from}`,
    `vat: ${vat}`,
    ...(prefix ? [`number_prefix: ${prefix}`] : []),
  ]
  const text = `operator:\n  seller:\n${seller.map((line) => `    ${line}\n`).join('')}${catalogText}`
  return { catalog: parseCatalog(text, 'catalog.yaml') }
}
