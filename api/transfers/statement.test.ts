import { expect, test } from 'vitest'
import { withCheck } from './reference.ts'
import { readStatement, StatementError } from './statement.ts'

const reference = withCheck('4821093755')
const other = withCheck('1234567890')
const columns = { id: ['Id'], amount: 'Amount', purpose: 'Purpose', currency: 'Currency' }
const read = (...lines: string[]) => readStatement(lines.join('\r\n'), columns)

test('a statement is read with either delimiter, a decimal comma, quotes and a byte order mark', () => {
  const booked = { line: 2, id: 'a-1', amount: '1234.50', reference }
  expect(read('\uFEFFid;amount;currency;purpose', `a-1;1 234,5;RUB;"Счёт; ""${reference}""\n"`, '')).toEqual([
    booked,
  ])
  expect(read('Purpose,Id,Amount,Currency', `"for ${reference}",a-1,"1234,50",643`)).toEqual([booked])
})

test('a line that cannot be booked says why', () => {
  const head = 'Id,Amount,Currency,Purpose'
  const reasons = read(
    head,
    `a,100,USD,${reference}`,
    `a,-100,RUB,${reference}`,
    `a,0.00,RUB,${reference}`,
    `a,1234567890,RUB,${reference}`,
    `a,1e3,RUB,${reference}`,
    `=1+1,100,RUB,${reference}`,
    'a,100,RUB,4821-0937-5511',
    `a,100,RUB,${reference} ${other}`,
    `a,100,RUB`,
  ).map(({ reason }) => reason)
  const notIncoming = 'not an incoming sum'
  expect(reasons).toEqual([
    ...[
      'other currency',
      notIncoming,
      notIncoming,
      notIncoming,
      notIncoming,
      'invalid id of the transaction',
    ],
    ...['no reference in the purpose', 'several references in the purpose'],
    'its number of cells differs from the first line',
  ])
})

test('a file without the columns, or with an unclosed quote, is refused', () => {
  expect(() => read('Id,Amount,Purpose', '')).toThrow(StatementError)
  expect(() => read('Id,Id,Amount,Currency,Purpose', '')).toThrow(StatementError)
  expect(() => read('Id,Amount,Currency,Purpose', 'a,"1,RUB,x')).toThrow(StatementError)
})

test('several columns identify a transaction if its order number is not unique', () => {
  const lines = ['Date,No,Amount,Purpose', `27.11.2026,1,100,${reference}`, `28.11.2026,1,100,${reference}`]
  const byColumns = (...id: string[]) =>
    readStatement(lines.join('\n'), { id, amount: 'Amount', purpose: 'Purpose' })
  expect(byColumns('Date', 'No').map(({ id, reason }) => [id, reason])).toEqual([
    ['27.11.2026-1', undefined],
    ['28.11.2026-1', undefined],
  ])
  // By their number alone both would be one transaction, and the second would never be booked.
  expect(byColumns('No').map(({ reason }) => reason)).toEqual([
    undefined,
    'the id is that of line 2, too: give more columns as --id',
  ])
  lines.push(`,1,100,${reference}`, `28.11.2026,1,100,${reference}`)
  expect(byColumns('Date', 'No').map(({ reason }) => reason)).toEqual([
    ...[undefined, undefined, 'invalid id of the transaction', undefined],
  ])
})
