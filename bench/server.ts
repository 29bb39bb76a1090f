import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import pino from 'pino'
import { createAccount } from '../api/accounts/accounts.ts'
import { hashToken } from '../api/accounts/token-value.ts'
import { createToken } from '../api/accounts/tokens.ts'
import { buildApp } from '../api/app.ts'
import { post } from '../api/billing/ledger.ts'
import { readCatalog } from '../api/catalog/file.ts'
import { systemClock as clock } from '../api/clock.ts'
import { migrate } from '../api/database/migrate.ts'
import { openSqlite } from '../api/database/sqlite.ts'
import { Drivers } from '../api/drivers/drivers.ts'
import { Simulator } from '../api/drivers/simulator/simulator.ts'
import { readPages } from '../api/http/server/pages.ts'
import { parseMoney } from '../api/money.ts'
import { Secrets } from '../api/secrets.ts'

/** The two programs that bench/api.ts compares, in a process of their own: Berth, and a bare handler. */

const root = (name: string) => new URL(`../${name}`, import.meta.url).pathname
const folder = mkdtempSync(path.join(tmpdir(), 'berth-bench-'))
const file = path.join(folder, 'berth.db')
const PLENTY = { servers: 1e6, projects: 1e6, cpu: 1e6, ram_mb: 1e12, disk_gb: 1e9 }

const db = openSqlite(file)
await migrate(db)
const scopes = ['read', 'write'] as const
const { accountId, token } = await openAccount('bench')
const others: string[] = []
while (others.length < 64) others.push((await openAccount(`of-${others.length}`)).token)

/** An account with money and without limits, and a token of it. */
async function openAccount(name: string): Promise<{ accountId: string; token: string }> {
  const id = (await createAccount(db, clock, { email: `${name}@example.com`, name })) ?? ''
  const quotas = JSON.stringify(PLENTY)
  await db.updateTable('accounts').set({ quotas }).where('account_id', '=', id).execute()
  const payment = { accountId: id, type: 'payment', description: 'bench', reference: null } as const
  await post(db, clock, { ...payment, amount: parseMoney('100000000') })
  const { value } = await createToken(db, clock, { accountId: id, name, scopes, expiresAt: null })
  return { accountId: id, token: value }
}

const { default_project_id: projectId } = await db
  .selectFrom('accounts')
  .selectAll()
  .where('account_id', '=', accountId)
  .executeTakeFirstOrThrow()
const tools = { accountId, name: 'tools', scopes, expiresAt: null, projectId }
const hcloudToken = (await createToken(db, clock, tools)).value

const catalog = readCatalog(root('catalog.yaml'))
const berth = await buildApp({
  db,
  clock,
  drivers: new Drivers('simulator', {
    simulator: new Simulator({ clock, host: { cores: 1e6, ramMb: 1e9, diskGb: 1e9 } }),
  }),
  catalog,
  secrets: new Secrets(Buffer.alloc(32)),
  log: pino({ level: 'error' }),
  rateLimits: { reads: 1e9, writes: 1e9, anonymous: 1e9 },
  sshPorts: { first: 1024, last: 65535 },
  sshHost: '127.0.0.1',
  hasHcloud: true,
  pages: readPages(root('console/dist')),
})
const berthUrl = await berth.http.listen({ port: 0, host: '127.0.0.1' })
await berth.engine.start({ isAlone: true })
berth.events.start()

/**
 * The bare handler to compare with: the same prepared SQL on the same file, and nothing else that a service needs.
 */
const sqlite = new DatabaseSync(file)
sqlite.exec('PRAGMA synchronous = FULL; PRAGMA busy_timeout = 10000')
const byToken = sqlite.prepare('SELECT account_id FROM tokens WHERE hash = ?')
const page = sqlite.prepare(
  'SELECT * FROM servers WHERE deleted_at IS NULL AND account_id = ? ORDER BY server_id DESC LIMIT 20',
)
const count = sqlite.prepare(
  'SELECT count(*) AS total FROM servers WHERE deleted_at IS NULL AND account_id = ?',
)
const active = sqlite.prepare(
  "SELECT * FROM operations WHERE subject_type = 'server' AND subject_id = ? AND status IN ('pending', 'running')",
)
const one = sqlite.prepare('SELECT * FROM servers WHERE deleted_at IS NULL AND server_id = ?')
// The bare handler writes to a copy, because two connections of one thread to one file would block each other.
const copy = path.join(folder, 'bare.db')
sqlite.prepare('VACUUM INTO ?').run(copy)
const writer = new DatabaseSync(copy)
writer.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
const insert = writer.prepare(
  'INSERT INTO projects (project_id, account_id, name, description, server_count, created_at, updated_at) VALUES (?, ?, ?, NULL, 0, 0, 0)',
)
const bare = Fastify()
const account = (authorization = '') => byToken.get(hashToken(authorization.slice(7)))?.account_id ?? ''
bare.get('/v1/servers', async ({ headers }) => {
  const owner = account(headers.authorization)
  return { items: page.all(owner), total: count.get(owner)?.total }
})
bare.get<{ Params: { id: string } }>('/v1/servers/:id', async ({ headers, params }) => {
  account(headers.authorization)
  return { ...one.get(params.id), current_operation: active.get(params.id) ?? null }
})
let projects = 0
bare.post<{ Body: { name: string } }>('/v1/account/projects', async ({ headers, body }, reply) => {
  const id = `bare-${projects++}`
  insert.run(id, account(headers.authorization), body.name)
  return reply.code(201).send({ project_id: id, name: body.name })
})
const bareUrl = await bare.listen({ port: 0, host: '127.0.0.1' })

const portOf = (url: string) => Number(new URL(url).port)
const preset = catalog.presets[0]?.presetId
const template_id = catalog.templates[0]?.templateId
const order = { zone_slug: 'local-1', template_id, plan_type: 'preset', preset_id: preset, cpu_type: 'amd' }
process.send?.({
  berth: portOf(berthUrl),
  bare: portOf(bareUrl),
  token,
  others,
  hcloudToken,
  projectId,
  order,
})
process.on('message', async (wanted) => {
  if (wanted === 'running') {
    const { n } = await db
      .selectFrom('servers')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('status', '=', 'running')
      .executeTakeFirstOrThrow()
    process.send?.({ running: n })
  }
  if (wanted === 'forget projects') {
    await db.deleteFrom('projects').where('project_id', '<>', projectId).execute()
    writer.exec('DELETE FROM projects')
    process.send?.({ forgotten: true })
  }
  if (wanted === 'cpu') {
    const { user, system } = process.threadCpuUsage()
    process.send?.({ cpuMs: (user + system) / 1000 })
  }
  if (wanted === 'memory') process.send?.({ rss: process.memoryUsage.rss() })
  if (typeof wanted === 'object' && wanted !== null && 'fill' in wanted) {
    fill(Number(wanted.fill))
    process.send?.({ filled: true })
  }
})
process.on('disconnect', async () => {
  await bare.close()
  await berth.close()
  rmSync(folder, { recursive: true, force: true })
  process.exit(0)
})

/** Copies a server's row until the account has this many. */
function fill(total: number): void {
  const held = sqlite.prepare('SELECT count(*) AS n FROM servers WHERE account_id = ?')
  const { n } = held.get(accountId) as { n: number } // count makes one row of one number
  const columns = (
    sqlite.prepare('SELECT name FROM pragma_table_info(?)').all('servers') as { name: string }[]
  ).map(({ name }) => name) // the pragma's own column
  const own = ['server_id', 'ssh_port', 'number']
  const rest = columns.filter((name) => !own.includes(name)).join(', ')
  const copy = sqlite.prepare(
    `INSERT INTO servers (server_id, ssh_port, ${rest}) SELECT ?, NULL, ${rest} FROM servers WHERE account_id = ? ORDER BY server_id LIMIT 1`,
  )
  sqlite.exec('BEGIN')
  for (let at = n; at < total; at++)
    copy.run(`00000000-0000-7000-8000-${String(at).padStart(12, '0')}`, accountId)
  sqlite.prepare('UPDATE accounts SET servers_used = ? WHERE account_id = ?').run(total, accountId)
  sqlite.exec('COMMIT')
}
