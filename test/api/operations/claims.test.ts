import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { claimDue } from '../../../api/operations/store.ts'
import { claimWebhooks, lockWebhooks } from '../../../api/webhooks/store.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { order } from '../harness/ordering.ts'

// SQLite has one writer at a time: there, no two are ever at the same rows.
const onPostgres = test.runIf(process.env.BERTH_TEST_DATABASE === 'postgres')

const by = (t: TestApp) => ({
  ...{ owner: 'other', now: t.clock.now(), leaseMs: 1_000, limit: 10, perAccount: 10 },
  steps: ['server.create.image'],
})

async function makeHooks(t: TestApp, count: number): Promise<string[]> {
  const ids: string[] = []
  const body = { name: 'mine', url: 'https://example.com/', event_types: ['*'] }
  while (ids.length < count) ids.push((await t.call('POST', '/webhooks', body)).body.webhook_id)
  return ids
}

onPostgres('a process that looks for operations does not wait for one that is just taking some', async () => {
  const t = await testApp()
  const body = await order(t.call)
  const servers: string[] = []
  while (servers.length < 3) servers.push((await t.call('POST', '/servers', body)).body.server_id)
  await t.db.transaction().execute(async (tx) => {
    const taken = tx
      .updateTable('operations')
      .set({ attempt: 0 })
      .where('server_id', '=', servers[0] ?? '')
    await taken.execute()
    const claimed = await claimDue(t.db, by(t))
    expect(claimed.map((operation) => operation.server_id).sort()).toEqual(servers.slice(1).sort())
  })
  expect((await claimDue(t.db, by(t))).map((operation) => operation.server_id)).toEqual(servers.slice(0, 1))
})

onPostgres('a process that looks for webhooks does not wait for one that is just taking some', async () => {
  const t = await testApp()
  const ids = await makeHooks(t, 3)
  await t.db.updateTable('webhooks').set({ next_run_at: 0 }).execute()
  await t.db.transaction().execute(async (tx) => {
    await tx
      .updateTable('webhooks')
      .set({ name: 'held' })
      .where('webhook_id', '=', ids[0] ?? '')
      .execute()
    const claimed = await claimWebhooks(t.db, by(t))
    expect(claimed.map((webhook) => webhook.webhook_id).sort()).toEqual(ids.slice(1).sort())
  })
  expect((await claimWebhooks(t.db, by(t))).map((webhook) => webhook.webhook_id)).toEqual(ids.slice(0, 1))
})

onPostgres('who needs several webhooks of an account never waits in a circle', async () => {
  const t = await testApp()
  const [first = '', second = ''] = await makeHooks(t, 2)
  const rename = (db: TestApp['db'], id: string) =>
    db.updateTable('webhooks').set({ name: 'renamed' }).where('webhook_id', '=', id).execute()
  // On the disk it comes after the other one.
  await t.db.updateTable('webhooks').set({ next_run_at: 0 }).where('webhook_id', '=', first).execute()
  const isWaiting = async () =>
    (await sql`SELECT 1 FROM pg_locks WHERE NOT granted`.execute(t.db)).rows.length > 0
  let both: Promise<unknown> = Promise.resolve()
  await t.db.transaction().execute(async (tx) => {
    await rename(tx, first)
    both = t.db.transaction().execute(async (other) => {
      // Which way to the rows is the quickest is up to the database.
      await sql`SET LOCAL enable_indexscan = off`.execute(other)
      return lockWebhooks(other, [t.accountId])
    })
    await expect.poll(isWaiting, { interval: 10 }).toBe(true)
    await rename(tx, second)
  })
  expect(await both).toHaveLength(2)
})
