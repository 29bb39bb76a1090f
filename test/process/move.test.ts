import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../api/database/migrate.ts'
import { openPostgres } from '../../api/database/postgres.ts'
import { type Server, startPostgres } from '../harness/postgres.ts'
import { berthd, folder, order, run, serve, serveOn } from './harness/berthd.ts'

let postgres: Server
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.remove())

/** Samples of a year: enough to be in the middle of them. */
function fill(dataDir: string): void {
  const db = new DatabaseSync(path.join(dataDir, 'berth.db'))
  db.exec(`INSERT INTO samples (series, resolution, at, cpu)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
    SELECT 1000000, 3600, i * 3600, i % 100 FROM n`)
  db.close()
}

test('an installation moves to PostgreSQL with every row, also when it is killed on the way, and serves on', async () => {
  const data = path.join(folder(), 'data')
  mkdirSync(data)
  const service = await serve(data)
  const token = service.token
  const made = (await service.call('POST', '/servers', { ...(await order(service)), name: 'web-1' })).body
  const status = async (of = service) => (await of.call('GET', `/servers/${made.server_id}`)).body.status
  await expect.poll(() => status()).toBe('running')
  const file = path.join(data, 'moving.db')
  expect(await run(['export', file], { BERTH_DATA: data })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('already using'),
  })
  const balance = (await service.call('GET', '/account/balance')).body
  service.process.kill('SIGTERM')
  await service.ended
  fill(data)
  expect(await run(['export', file], { BERTH_DATA: data })).toMatchObject({ code: 0, stderr: '' })

  const url = await postgres.create('moved')
  const env = { BERTH_DATA: data, DATABASE_URL: url }
  const db = openPostgres(url)
  onTestFinished(() => db.destroy())
  await migrate(db)
  // So slow that it is killed in the middle, however busy the machine is.
  await sql`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END'`.execute(db)
  await sql`CREATE TRIGGER slow AFTER INSERT OR UPDATE ON installation FOR EACH ROW
    WHEN (NEW.name = 'import.samples') EXECUTE FUNCTION slow()`.execute(db)
  const killed = berthd(['import', file], env)
  await killed.line((line) => line.startsWith('rates: '))
  const samples = async () =>
    (await sql<{ n: number }>`SELECT count(*) AS n FROM kept_samples`.execute(db)).rows[0]?.n ?? 0
  await expect.poll(samples, { interval: 20 }).toBeGreaterThan(2_000)
  killed.process.kill('SIGKILL')
  await killed.ended
  expect(await samples()).toBeLessThan(60_000)
  await sql`DROP FUNCTION slow CASCADE`.execute(db)
  expect(await run(['account', 'list'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Run the same berthd import again'),
  })
  const resumed = await run(['import', file], env)
  expect(resumed).toMatchObject({ code: 0, stderr: '' })
  expect(resumed.stdout).toContain('their counts and the sums of the ledger match')
  expect(await run(['import', file], env)).toMatchObject({
    code: 1,
    stderr: 'The database already contains an installation. Import into an empty database.\n',
  })

  const next = await serveOn(url, data, { TOKEN: token })
  expect(await status(next)).toBe('running')
  expect((await next.call('GET', '/account/balance')).body.balance).toBe(balance.balance)
  expect(await run(['import', file], { ...env, BERTH_DATA: data })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is being served'),
  })
}, 900_000)

test('after a move nothing opens the old database, which says where the installation is, until that is undone', async () => {
  const data = path.join(folder(), 'data')
  const sqlite = { BERTH_DATA: data, BERTH_COMPUTE: 'simulator', PORT: '0' }
  await run(['account', 'create', 'ann@example.com'], sqlite)
  const file = path.join(data, 'moving.db')
  expect(await run(['export', file], sqlite)).toMatchObject({ code: 0, stderr: '' })
  // Writes to the old database would be lost from here on.
  expect((await run(['account', 'list'], sqlite)).stderr).toContain(`berth.db was exported to ${file} on 2`)
  const url = await postgres.create('after')
  writeFileSync(path.join(data, 'secret.key'), '0'.repeat(64))
  expect(await run(['import', file], { ...sqlite, DATABASE_URL: url })).toMatchObject({ code: 0, stderr: '' })
  const { host, pathname, password } = new URL(url)
  const credit = ['account', 'credit', 'ann@example.com', '100', '--reason', 'x']
  for (const command of [
    ['serve'],
    credit,
    ['catalog', 'check'],
    ['backup', path.join(data, 'backup.tar')],
  ]) {
    const { code, stdout, stderr } = await run(command, {
      ...sqlite,
      BERTH_PASSPHRASE: 'correct horse battery',
    })
    expect([command, code, stdout]).toEqual([command, 2, ''])
    expect(stderr).toContain(`was moved to PostgreSQL at ${host}${pathname} on 2`)
    expect(stderr).toContain('berthd export --undo')
  }
  expect(readFileSync(path.join(data, 'berth.db')).includes(`:${password}@`)).toBe(false)
  expect(await run(['export', '--undo'], sqlite)).toMatchObject({ code: 0, stderr: '' })
  expect((await run(['account', 'list'], sqlite)).stdout).toContain('ann@example.com')
}, 900_000)
