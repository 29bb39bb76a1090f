import { type Catalog, parseCatalog } from '../../api/catalog/file.ts'
import { catalogText } from './app.ts'

export const VAT_INCLUDED = '{ percent: "20", is_included: true }'
export const VAT_ADDED = '{ percent: "20", is_included: false }'

export const BANK = '{ name: Example Bank, account: "40702810900000000001", bic: "044525000" }'

/** The sample catalogue with a legal entity that issues documents. */
export function selling({
  vat = VAT_INCLUDED,
  from = '2026-11',
  taxId = '7700000000',
  prefix = '',
  bank = '',
} = {}): {
  catalog: Catalog
} {
  const seller = [
    'name: ООО "Пример"',
    'address: Москва, ул. Примерная, 1',
    `tax_id: "${taxId}"`,
    `first_month: ${from}`,
    `vat: ${vat}`,
    ...(bank ? [`bank: ${bank}`] : []),
    ...(prefix ? [`number_prefix: ${prefix}`] : []),
  ]
  const text = `operator:\n  seller:\n${seller.map((line) => `    ${line}\n`).join('')}${catalogText}`
  return { catalog: parseCatalog(text, 'catalog.yaml') }
}

/** A catalogue whose operator takes bank transfers, too. */
export function withBank(catalog: Catalog): Catalog {
  return { ...catalog, operator: selling({ bank: BANK }).catalog.operator }
}
