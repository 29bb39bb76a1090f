import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CatalogError, parseCatalog } from './file.ts'

const shipped = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
const read = (entry: string) =>
  parseCatalog(`operator:\n  second_currency: ${entry}\n${shipped}`, 'c.yaml').operator.secondCurrency

test('a second currency has as many digits as ISO 4217 gives it, and the rate that the operator wrote', () => {
  expect(read('{ code: EUR, rubles: "98.50" }')).toEqual({
    ...{ code: 'EUR', decimals: 2, rubles: '98.50', rate: 98_500_000 },
    ...{ chargedBy: [], isLargeChange: false },
  })
  expect(read('{ code: VND, rubles: "0.003512" }')).toMatchObject({ decimals: 0, rubles: '0.003512' })
  expect(read('{ code: KWD, rubles: "260" }')).toMatchObject({ decimals: 3, rubles: '260' })
  expect(parseCatalog(shipped, 'c.yaml').operator.secondCurrency).toBeNull()
})

test.each([
  ['{ code: EUU, rubles: "98.50" }', 'no such currency: EUU. Use the ISO 4217 code of one, such as EUR.'],
  ['{ code: RUB, rubles: "1" }', 'rubles are the first currency: name another one.'],
  ['{ code: eur, rubles: "98.50" }', 'must be the ISO 4217 code of a currency, such as EUR.'],
  [
    '{ code: KWD, rubles: "260", charged_by: [stripe] }',
    "payments through Stripe can't be charged in KWD here.",
  ],
  ['{ code: EUR, rubles: "98.50", charged_by: [yookassa] }', 'must be one of stripe.'],
  ['{ code: EUR, rubles: "0.00" }', 'one unit must cost more than 0 rubles.'],
  ...['98.50', '"-98.50"', '"1000000"', '"1e3"', '"98,50"', '"98.1234567"', '"098"'].map((rubles) => [
    `{ code: EUR, rubles: ${rubles} }`,
    'in quotes',
  ]),
])('a second currency such as %s is refused at its line', (entry, sentence) => {
  expect(() => read(entry ?? '')).toThrow(CatalogError)
  expect(() => read(entry ?? '')).toThrow(/c\.yaml:2: /)
  if (sentence !== 'in quotes') expect(() => read(entry ?? '')).toThrow(sentence)
})
