import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type Database, migrations } from '../../../api/database/database.ts'
import { testDatabase } from '../../harness/database.ts'
import { serverRow } from '../../harness/server-row.ts'

const account = { account_id: 'a', email: 'a@example.com', name: 'A', status: 'active', quotas: '{}' }
const used = { servers_used: 0, cpu_used: 0, ram_mb_used: 0, disk_gb_used: 0, created_at: 0 }

/** Accounts, entries and servers as 0001 knew them. */
async function fillOld(db: Database): Promise<void> {
  for (const [id, balance] of Object.entries({ a: 70, b: 0 }))
    await insert(db, 'accounts', {
      ...account,
      ...used,
      default_project_id: 'p',
      account_id: id,
      email: `${id}@example.com`,
      balance,
    })
  for (const [n, amount, balance_after] of [
    [1, 100, 100],
    [2, -50, 50],
    [3, 20, 70],
  ]) {
    const entry = { transaction_id: `t${n}`, account_id: 'a', type: 'payment', amount, balance_after }
    await insert(db, 'transactions', {
      ...entry,
      server_id: null,
      description: '',
      reference: `r${n}`,
      created_at: n,
    })
  }
  const server = { server_id: 's', account_id: 'a', price_hour: 12_329, price_month: 9_000_000 }
  const row = asBefore(serverRow(server, 5_000), ['priced_at', 'suspended_from', 'pool'])
  await insert(db, 'servers', row)
  await insert(db, 'servers', { ...row, server_id: 'never', billed_since: null })
  await insert(db, 'servers', { ...row, server_id: 'gone', deleted_at: 6_000 })
}

/** Columns of servers that came after all that these tests are about. */
const LATER: readonly string[] = [
  ...['number', 'delete_at', 'ipv4', 'ipv6', 'networks', 'traffic_gb', 'traffic_price', 'bandwidth_mbit'],
  ...['copying', 'snapshot_id', 'instance_id', 'backing_up', 'backup_hour', 'backup_due_at', 'backup_item'],
  ...[
    'backup_price_month',
    'backup_price_hour',
    'suspension_reason',
    'username',
    'rescue_id',
    'rescue_login',
    'iso_id',
    'source_id',
    'down_at',
    'hold_changed_at',
  ],
]

/** A server's row from before these columns, and all later ones. */
function asBefore(row: object, more: readonly string[] = []): Record<string, unknown> {
  const missing = [...LATER, ...more]
  return Object.fromEntries(Object.entries(row).filter(([name]) => !missing.includes(name)))
}

async function insert(db: Database, table: string, row: Record<string, unknown>): Promise<void> {
  const columns = sql.join(Object.keys(row).map((name) => sql.ref(name)))
  await sql`INSERT INTO ${sql.table(table)} (${columns}) VALUES (${sql.join(Object.values(row))})`.execute(db)
}

test('a ledger from before it was a chain becomes one, and its servers are metered from then on', async () => {
  const { db, drop } = await testDatabase({ upTo: '0002-samples' })
  await fillOld(db)
  const before = Date.now()
  await (await migrations['0003-ledger']?.())?.up(db)
  const entries = await db
    .selectFrom('transactions')
    .select(['sequence', 'previous', 'balance_before', 'amount', 'balance_after', 'reference'])
    .orderBy('sequence')
    .execute()
  expect(entries.map((entry) => Object.values(entry))).toEqual([
    [1, null, 0, 100, 100, 'r1'],
    [2, 1, 100, -50, 50, 'r2'],
    [3, 2, 50, 20, 70, 'r3'],
  ])
  const ledgers = await db
    .selectFrom('ledgers')
    .select(['account_id', 'sequence', 'balance'])
    .orderBy('account_id')
    .execute()
  expect(ledgers.map((ledger) => Object.values(ledger))).toEqual([
    ['a', 3, 70],
    ['b', null, 0],
  ])
  const rates = await db.selectFrom('rates').selectAll().execute()
  expect(rates).toMatchObject([{ server_id: 's', ends_at: null, price_hour: 12_329, price_month: 9_000_000 }])
  expect(rates[0]?.starts_at).toBeGreaterThan(before - 1_000)
  expect(
    (await db.selectFrom('servers').select('priced_at').execute()).map((each) => each.priced_at),
  ).toEqual([5_000, 5_000, 5_000])
  await drop()
})

test('of payments from before references were unique, each keeps its own, and the earliest is found by it', async () => {
  const { db, drop } = await testDatabase({ upTo: '0036-inviters' })
  for (const id of ['a', 'b']) {
    await insert(db, 'accounts', {
      ...account,
      ...used,
      account_id: id,
      email: `${id}@example.com`,
      default_project_id: 'p',
      is_smtp_open: 0,
    })
    await insert(db, 'transactions', {
      ...{ transaction_id: id, account_id: id, sequence: 1, type: 'payment', description: '' },
      ...{ balance_before: 0, amount: 5, balance_after: 5, reference: 'r', created_at: id === 'b' ? 1 : 2 },
    })
  }
  await (await migrations['0037-references']?.())?.up(db)
  expect(await db.selectFrom('booked_references').selectAll().execute()).toEqual([
    { reference: 'r', account_id: 'b', sequence: 1 },
  ])
  await drop()
})

test('operations from before subjects existed get their servers as subjects, and keep their data', async () => {
  const { db, drop } = await testDatabase({ upTo: '0006-webhooks' })
  await insert(db, 'accounts', { ...account, ...used, default_project_id: 'p' })
  const row = serverRow({ server_id: 'here', account_id: 'a', price_hour: 1, price_month: 1 }, 5_000)
  const server = asBefore(row, ['pool'])
  await insert(db, 'servers', { ...server })
  await insert(db, 'servers', { ...server, server_id: 'gone', deleted_at: 6_000 })
  const before = {
    account_id: 'a',
    type: 'resize',
    step: 'define',
    progress: 30,
    data: '{"growth":{"cpu":1}}',
    error_code: null,
    error_message: null,
    attempt: 2,
    next_run_at: 7_000,
    deadline_at: 8_000,
    lease_owner: null,
    lease_until: 0,
    created_at: 5_500,
    started_at: 5_600,
    finished_at: null,
  }
  const active = { ...before, operation_id: 'o1', server_id: 'here', status: 'running' }
  const ended = { ...before, operation_id: 'o2', server_id: 'gone', status: 'succeeded', finished_at: 5_900 }
  for (const row of [active, ended]) await insert(db, 'operations', row)
  await (await migrations['0007-operation-subjects']?.())?.up(db)
  const week = 7 * 24 * 3600_000
  const rows = await db.selectFrom('operations').selectAll().orderBy('operation_id').execute()
  expect(rows).toEqual([
    { ...active, subject_type: 'server', subject_id: 'here', readable_until: null },
    { ...ended, subject_type: 'server', subject_id: 'gone', readable_until: 6_000 + week },
  ])
  // The unique index on a subject still holds, and operations without a server keep their subject.
  const another = { ...active, operation_id: 'o3', subject_type: 'server', subject_id: 'here' }
  await expect(insert(db, 'operations', another)).rejects.toThrow(/unique/i)
  await insert(db, 'operations', { ...another, subject_type: 'volume', server_id: null })
  await drop()
})

test('a server from before pools existed is in the default pool', async () => {
  const { db, drop } = await testDatabase({ upTo: '0002-samples' })
  await fillOld(db)
  await (await migrations['0008-server-pools']?.())?.up(db)
  const pools = await db.selectFrom('servers').select('pool').execute()
  expect(pools.map(({ pool }) => pool)).toEqual(['local', 'local', 'local'])
  await drop()
})

test('the amount paid before it was recorded is the sum of payments, without gifts and charges', async () => {
  const { db, drop } = await testDatabase({ upTo: '0010-token-parents' })
  const entry = { description: '', created_at: 0 }
  for (const [id, entries] of Object.entries({
    paid: [
      ['payment', 500],
      ['correction', 50],
      ['payment', 20],
    ],
    gifted: [['correction', 100]],
    none: [],
  } as const)) {
    const account = { account_id: id, email: id, name: id, status: 'active', quotas: '{}' }
    await insert(db, 'accounts', { ...account, ...used, default_project_id: 'p' })
    let balance = 0
    for (const [at, [type, amount]] of entries.entries()) {
      const place = { account_id: id, sequence: at + 1, previous: at || null, balance_before: balance }
      balance += amount
      const amounts = { amount, balance_after: balance }
      await insert(db, 'transactions', {
        ...entry,
        ...place,
        ...amounts,
        transaction_id: `${id}${at}`,
        type,
      })
    }
    await insert(db, 'ledgers', { account_id: id, sequence: entries.length || null, balance })
  }
  await (await migrations['0012-paid']?.())?.up(db)
  const rows = await db.selectFrom('ledgers').select(['account_id', 'paid']).orderBy('account_id').execute()
  expect(rows.map(({ account_id, paid }) => [account_id, paid])).toEqual([
    ['gifted', 0],
    ['none', 0],
    ['paid', 520],
  ])
  await drop()
})

test('webhooks from before challenges existed are verified', async () => {
  const { db, drop } = await testDatabase({ upTo: '0012-paid' })
  await insert(db, 'accounts', { ...account, ...used, default_project_id: 'p' })
  const before = {
    webhook_id: 'w',
    account_id: 'a',
    name: 'x',
    url: 'https://example.com',
    event_types: '[]',
  }
  const job = { secret: '', is_enabled: 1, lease_until: 0, created_at: 5 }
  await insert(db, 'webhooks', { ...before, ...job })
  await (await migrations['0013-webhook-verification']?.())?.up(db)
  expect(await db.selectFrom('webhooks').selectAll().executeTakeFirst()).toMatchObject({
    ...before,
    verification: 'verified',
    verified_addresses: null,
    challenges: 0,
  })
  await drop()
})

test('servers from before numbers existed get a number each, and deleted servers none', async () => {
  const { db, drop } = await testDatabase({ upTo: '0014-ended-rates' })
  await insert(db, 'accounts', { ...account, ...used, default_project_id: 'p' })
  const row = asBefore(serverRow({ server_id: 's', account_id: 'a', price_hour: 1, price_month: 1 }, 5_000))
  for (const server_id of ['s1', 's2', 's3'])
    await insert(db, 'servers', { ...row, server_id, deleted_at: server_id === 's2' ? 6_000 : null })
  await insert(db, 'servers', { ...row, server_id: 's4', pool: 'local' })
  await (await migrations['0015-server-numbers']?.())?.up(db)
  const servers = await db
    .selectFrom('servers')
    .select(['server_id', 'number'])
    .orderBy('server_id')
    .execute()
  expect(servers.map(({ number }) => number)).toEqual([1, null, 2, 3])
  await expect(insert(db, 'servers', { ...row, server_id: 's5', pool: 'local', number: 2 })).rejects.toThrow(
    /unique/i,
  )
  await drop()
})

test('nobody is mailed about a suspension that ended before the upgrade, and people have no places yet', async () => {
  const { db, drop } = await testDatabase({ upTo: '0083-service-mails' })
  for (const [account_id, status, depleted_since] of [
    ['paid', 'active', null],
    ['owing', 'active', 5],
    ['held', 'suspended', null],
  ] as const) {
    await insert(db, 'accounts', {
      ...account,
      ...used,
      account_id,
      email: account_id,
      status,
      default_project_id: 'p',
    })
    await insert(db, 'ledgers', { account_id, balance: 0, depleted_since })
    for (const [at, kind] of ['suspended', 'account_suspended', 'account_frozen'].entries())
      await insert(db, 'warnings', { account_id, kind, since: at + 1, sent_at: at + 10 })
  }
  const person = { person_id: 'p', email: 'p', name: 'p', language: 'en', created_at: 1 }
  await insert(db, 'people', { ...person, password: null, is_operator: 0 })
  await (await migrations['0084-notices']?.())?.up(db)
  const rows = await db
    .selectFrom('warnings')
    .select(['account_id', 'kind', 'since', 'sent_at'])
    .where('kind', 'in', ['resumed', 'account_resumed'])
    .orderBy('account_id')
    .orderBy('kind')
    .execute()
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['held', 'resumed', 1, 10],
    ['owing', 'account_resumed', 3, 12],
    ['paid', 'account_resumed', 3, 12],
    ['paid', 'resumed', 1, 10],
  ])
  expect(await db.selectFrom('people').select('places').execute()).toEqual([{ places: '[]' }])
  await drop()
})
