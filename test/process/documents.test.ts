import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../api/clock.ts'
import { openSqlite } from '../../api/database/sqlite.ts'
import { catalogText } from '../harness/app.ts'
import { chargeHour } from '../harness/invoiced.ts'
import { folder, run, serve } from './harness/berthd.ts'

const TIMEOUT_MS = 900_000

test(
  'an operator corrects an invoice on the command line, once for each reference',
  async () => {
    const data = folder()
    const today = new Date()
    const past = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 1, 15)
    const month = new Date(past).toISOString().slice(0, 7)
    const seller = ['name: A', 'address: B', 'tax_id: "7700000000"', `first_month: ${month}`]
    writeFileSync(
      path.join(data, 'catalog.yaml'),
      `operator:\n  seller:\n${seller.map((line) => `    ${line}\n`).join('')}${catalogText}`,
    )
    const env = { BERTH_DATA: data }
    await serve(data)
    const id = (await run(['account', 'create', 'ann@example.com'], env)).stdout.trim()
    const db = openSqlite(path.join(data, 'berth.db'))
    const item = await chargeHour({ db, clock: { ...systemClock, now: () => past } }, id)
    await db.destroy()
    const document = (...words: string[]) => run(['account', ...words, '--json'], env)
    const list = async () => JSON.parse((await document('documents', 'ann@example.com')).stdout)
    await expect.poll(list).toMatchObject([{ number: '1', type: 'invoice' }])
    const terms = ['ann@example.com', '1', '20', '--reason', 'An outage', '--reference', 'c-1']
    const note = { number: '2', type: 'credit_note', corrects: '1', total: '-20.00', balance: '-100.00' }
    const made = await document('correct', ...terms, '--item', item)
    expect([JSON.parse(made.stdout), made.stderr]).toMatchObject([note, ''])
    const again = await document('correct', ...terms, '--item', item)
    expect(JSON.parse(again.stdout)).toMatchObject(note)
    expect(again.stderr).toContain('Nothing changed')
    for (const [code, ...wrong] of [
      [2, ...terms.slice(0, -2)],
      [2, terms[0], '7', ...terms.slice(2)],
      [1, ...terms],
      [1, terms[0], '2', ...terms.slice(2, -1), 'c-2'],
      [1, terms[0], '1', '100.01', ...terms.slice(3, -1), 'c-2'],
      [1, terms[0], '1', '1.001', ...terms.slice(3, -1), 'c-2'],
    ] as [number, ...string[]][])
      expect([wrong, (await document('correct', ...wrong)).code]).toEqual([wrong, code])
    const debit = await document('correct', ...terms.slice(0, -1), 'c-3', '--debit')
    expect(JSON.parse(debit.stdout)).toMatchObject({ number: '3', total: '20.00', balance: '-120.00' })
    expect(await list()).toMatchObject([{ number: '3' }, { number: '2', corrects: '1' }, { number: '1' }])
  },
  TIMEOUT_MS,
)
