import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type Database, isSqlite } from '../../../api/database/database.ts'
import { testApp } from '../../harness/app.ts'

/** Leaves the database without room, as a full disk does. @returns what gives it room again */
async function fill(db: Database): Promise<() => Promise<unknown>> {
  if (isSqlite(db)) {
    await sql`PRAGMA max_page_count = 1`.execute(db)
    return () => sql`PRAGMA max_page_count = 1000000`.execute(db)
  }
  await sql`CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`.execute(
    db,
  )
  await sql`CREATE TRIGGER fill BEFORE INSERT ON projects EXECUTE FUNCTION fill()`.execute(db)
  return () => sql`DROP FUNCTION fill() CASCADE`.execute(db)
}

test('while the disk is full, customers learn why nothing can be changed, can read, and go on when there is room', async () => {
  const t = await testApp()
  const ready = async () => {
    const { statusCode, body } = await t.app.http.inject({ method: 'GET', url: '/readyz' })
    return { statusCode, ...JSON.parse(body) }
  }
  const order = (name: string) => t.call('POST', '/account/projects', { name: `${name}-${'x'.repeat(50)}` })
  const refill = await fill(t.db)
  // A few rows find room in pages that are there.
  let refused = await order('first')
  for (let more = 0; more < 15 && refused.status === 201; more++) refused = await order(`${more}`)
  expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '60' } })
  expect(refused.body.code).toBe('backend_unavailable')
  expect(refused.body.detail).toContain('the disk of the service is full')
  expect((await t.call('GET', '/account/projects')).status).toBe(200)
  expect(await ready()).toMatchObject({ statusCode: 200, status: 'degraded', checks: { disk: 'full' } })
  await refill()
  expect((await order('last')).status).toBe(201)
  t.clock.advance(120_000)
  expect(await ready()).toEqual({
    statusCode: 200,
    status: 'ok',
    checks: { database: 'ok', compute: 'ok' },
  })
})
