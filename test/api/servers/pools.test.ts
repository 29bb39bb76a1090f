import { expect, test } from 'vitest'
import { Drivers } from '../../../api/drivers/drivers.ts'
import { namePool, unnamedPool } from '../../../api/servers/pools.ts'
import { testApp } from '../../harness/app.ts'
import { order } from '../harness/ordering.ts'

test('a server stays with the driver that made it when another becomes the default one', async () => {
  const t = await testApp({ hasOther: true })
  await t.call('POST', '/servers', await order(t.call))
  await t.finish()
  const { pool } = await t.db.selectFrom('servers').select('pool').executeTakeFirstOrThrow()
  const next = new Drivers('qemu', { qemu: t.other, simulator: t.driver })
  expect(next.at(pool)).toBe(t.driver)
  expect(next.at(next.poolOf({}))).toBe(t.other)
  await expect(new Drivers('qemu', { qemu: t.other }).at(pool).list()).rejects.toThrow(
    'simulator is not open',
  )
})

test('servers and what they hold move together to the pool that has the name of their driver', async () => {
  const t = await testApp()
  const { server_id } = (await t.call('POST', '/servers', await order(t.call))).body
  await t.finish()
  const held = () => t.db.selectFrom('pool_usage').select(['pool', 'cpu', 'ram_mb']).execute()
  const before = await held()
  await t.db.updateTable('servers').set({ pool: 'local' }).execute()
  await t.db.updateTable('pool_usage').set({ pool: 'local' }).execute()
  expect(await unnamedPool(t.db)).toEqual([server_id])
  await namePool(t.db, 'simulator')
  await namePool(t.db, 'simulator')
  expect([await held(), await unnamedPool(t.db)]).toEqual([before, []])
  expect((await t.call('DELETE', `/servers/${server_id}`)).status).toBe(202)
  await t.finish()
  expect(await held()).toEqual([{ pool: 'simulator', cpu: 0, ram_mb: 0 }])
})
