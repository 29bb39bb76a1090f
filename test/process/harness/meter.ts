import { createAccount } from '../../../api/accounts/accounts.ts'
import { chargeDue } from '../../../api/billing/metering.ts'
import { changeRate } from '../../../api/billing/rates.ts'
import { migrate } from '../../../api/database/migrate.ts'
import { openSqlite } from '../../../api/database/sqlite.ts'
import { billedItems, billedServer } from '../../../api/servers/queries.ts'
import { serverRow } from '../../harness/server-row.ts'
import { METERED, PRICES, START } from './metered.ts'

/** Charges the servers of a database hour by hour, from where the last process was, until this one is killed. */

const HOUR = 3600_000
const db = openSqlite(process.argv[2] ?? '')
if (process.argv[3] === 'open') {
  await migrate(db)
  await open()
} else {
  for (;;) {
    await hour()
    process.stdout.write('an hour\n')
  }
}

async function open(): Promise<void> {
  const clock = { now: () => START, sleep: async () => {} }
  for (let n = 0; n < METERED; n++) {
    const account_id = await createAccount(db, clock, { email: `c${n}@example.com`, name: 'Customer' })
    if (!account_id) throw new Error('the account exists already')
    const server = { server_id: `server-${n}`, account_id, ...PRICES[0] }
    await db.insertInto('servers').values(serverRow(server, START)).execute()
    await changeRate(db, billedServer(server), PRICES[0], START)
  }
}

/** Does the part of an hour that is not done yet: a change of the price of some servers, then the charges. */
async function hour(): Promise<void> {
  const { at } = await db
    .selectFrom('billing_meters')
    .select((eb) => eb.fn.min<number>('charged_until').as('at'))
    .executeTakeFirstOrThrow()
  const now = at - (at % HOUR) + HOUR
  const changed = `server-${(now / HOUR) % METERED}`
  const rate = await db
    .selectFrom('rates')
    .selectAll()
    .where('item_id', '=', changed)
    .where('ends_at', 'is', null)
    .executeTakeFirstOrThrow()
  // In the middle of the hour, and once: a process that comes after a killed one finds it done.
  const moment = now - HOUR / 2
  if (rate.starts_at < moment)
    await db
      .transaction()
      .execute((tx) => changeRate(tx, rate, PRICES[now % (2 * HOUR) === 0 ? 0 : 1], moment))
  await chargeDue({ db, items: billedItems }, now)
}
