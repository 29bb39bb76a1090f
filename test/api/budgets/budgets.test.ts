// The tables of test/budgets hold the statements of each route and operation, so that a reviewer sees each change of
// them. `npm run budgets` rewrites the tables.
import { expect, test } from 'vitest'
import { testDatabase } from '../../harness/database.ts'
import { walkAccount } from './account.ts'
import { walkHcloud } from './hcloud.ts'
import { Meter, routes } from './meter.ts'
import { walkPayments } from './payments.ts'
import { walkMembers, walkPeople } from './people.ts'
import { walkBackground, walkBackups, walkNetworks, walkServers } from './servers.ts'

const kind = process.env.BERTH_TEST_DATABASE ?? 'sqlite'
const isOnPostgres = kind === 'postgres'

test('what a transaction sends is counted, and on PostgreSQL how often it waits', async () => {
  const { db, drop } = await testDatabase()
  const meter = new Meter()
  await meter.note('one', () => db.selectFrom('accounts').select('name').execute())
  await meter.note('both', () =>
    db.transaction().execute(async (tx) => {
      await tx.selectFrom('accounts').select('name').execute()
      await tx.updateTable('accounts').set({ name: 'x' }).execute()
    }),
  )
  expect(meter.costs.get('one')).toMatchObject({ statements: 1, transactions: 0 })
  expect(meter.costs.get('both')).toMatchObject({ transactions: 1 })
  expect(meter.costs.get('both')?.statements).toBeGreaterThanOrEqual(2)
  expect(meter.costs.get('both')?.trips ?? 0).toBeGreaterThanOrEqual(isOnPostgres ? 2 : 0)
  await db.destroy()
  await drop()
})

test('no route and no operation sends more statements than the table says', async () => {
  const meter = new Meter()
  await walkAccount(meter)
  await walkPeople(meter)
  await walkMembers(meter)
  await walkServers(meter)
  await walkBackups(meter)
  await walkNetworks(meter)
  await walkPayments(meter)
  await walkHcloud(meter)
  await walkBackground(meter)
  expect(routes.filter((route) => !meter.costs.has(route))).toEqual([])
  await expect(
    meter.table(isOnPostgres),
    'the cost of a route has changed: npm run budgets writes the table anew',
  ).toMatchFileSnapshot(`../../budgets/${kind}.txt`)
})
