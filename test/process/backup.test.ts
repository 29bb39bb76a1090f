import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { secretsUnder } from '../../api/commands/backup.ts'
import { openSqlite } from '../../api/database/sqlite.ts'
import { berthd, folder, order, run, type Service, serve } from './harness/berthd.ts'
import { brokenAlways } from './harness/invariants.ts'
import { PORTS } from './harness/orders.ts'

const TIMEOUT_MS = 900_000
const BERTH_PASSPHRASE = 'correct horse battery'

/** Rows of each table that only grows. */
function counts(dataDir: string): Record<string, number> {
  const db = new DatabaseSync(path.join(dataDir, 'berth.db'), { readOnly: true })
  const tables = [
    'accounts',
    'tokens',
    'projects',
    'servers',
    'operations',
    'transactions',
    'events',
    'audit',
  ]
  const entries = tables.map((table) => {
    const row = db.prepare(`SELECT count(*) AS count FROM ${table}`).get()
    return [table, Number(row?.count)] as const
  })
  db.close()
  return Object.fromEntries(entries)
}

/** An installation that is not served, with an account that has money. */
async function installation(dataDir: string): Promise<void> {
  for (const args of [
    ['account', 'create', 'ann@example.com'],
    ['account', 'credit', 'ann@example.com', '499.90', '--reason', 'bank transfer'],
  ])
    expect(await run(args, { BERTH_DATA: dataDir })).toMatchObject({ code: 0, stderr: '' })
}

test(
  'backups into a folder have the time in their names, and only the newest are kept',
  async () => {
    const at = (name: string) => path.join(place, name)
    const place = folder()
    await installation(at('source'))
    mkdirSync(at('backups'))
    const before = ['berth-2026-01-01T041500Z.tar', 'berth-2026-01-02T041500Z.tar', 'own.tar']
    for (const name of before) writeFileSync(at(path.join('backups', name)), '')
    const env = { BERTH_DATA: at('source'), BERTH_PASSPHRASE }
    const keep = (number: string, target = at('backups')) => run(['backup', '--keep', number, target], env)
    expect(await keep('0')).toMatchObject({ code: 2, stderr: expect.stringContaining('from 1') })
    expect(await keep('2', at('nowhere'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not a folder'),
    })
    expect(existsSync(path.join(at('source'), 'last-backup'))).toBe(false)
    const written = await keep('2')
    expect(written.stdout).toContain(`Deleted ${at('backups/berth-2026-01-01T041500Z.tar')}.`)
    const [second, third, own, ...more] = readdirSync(at('backups')).sort()
    expect([second, own, more]).toEqual([before[1], 'own.tar', []])
    expect(third).toMatch(/^berth-\d{4}-\d\d-\d\dT\d{6}Z\.tar$/)
    // The service reports how long ago that was.
    expect(readFileSync(path.join(at('source'), 'last-backup'), 'utf8')).toContain(third)
    const restored = await run(['restore', at(`backups/${third}`)], { ...env, BERTH_DATA: at('copy') })
    expect(restored).toMatchObject({ code: 0, stderr: '' })
  },
  TIMEOUT_MS,
)

const balances = (dataDir: string) => run(['account', 'list'], { BERTH_DATA: dataDir })

/** Orders servers and projects, several at once, until it is told to stop. @returns how many, once all are answered */
function keepBusy(service: Service, body: Record<string, unknown>): () => Promise<number> {
  let isOver = false
  let requests = 0
  const customer = async (name: number) => {
    while (!isOver) {
      requests += 1
      await service.call('POST', '/account/projects', { name: `p-${name}-${requests}` })
      const { body: server } = await service.call('POST', '/servers', body)
      if (server.server_id) await service.call('DELETE', `/servers/${server.server_id}`)
    }
  }
  const customers = Promise.all([1, 2, 3, 4].map(customer))
  return async () => {
    isOver = true
    await customers
    return requests
  }
}

/** Gives an installation before its first start a catalogue that differs from the sample. */
function editCatalog(dataDir: string, from: string, to: string): void {
  const sample = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
  mkdirSync(dataDir)
  writeFileSync(path.join(dataDir, 'catalog.yaml'), sample.replace(from, to))
}

/** Checks that hold for a database at every moment: each kept sum equals what it sums up. */
async function expectWhole(dataDir: string): Promise<void> {
  const db = openSqlite(path.join(dataDir, 'berth.db'))
  expect(await brokenAlways({ db, machines: new Map(), ports: PORTS })).toEqual([])
  const ledgers = await db.selectFrom('ledgers').select(['account_id', 'balance']).execute()
  const sums = await db
    .selectFrom('transactions')
    .select((eb) => ['account_id', eb.fn.sum<number>('amount').as('balance')])
    .groupBy('account_id')
    .execute()
  expect(ledgers).toEqual(sums)
  await db.destroy()
}

test(
  'a backup of a service under load is restored elsewhere, whole: money, secrets, tokens and servers',
  async () => {
    const root = folder()
    const [source, copy, file] = [
      path.join(root, 'source'),
      path.join(root, 'copy'),
      path.join(root, 'backup.tar'),
    ]
    const rates = { BERTH_RATE_LIMITS: '1000000,1000000,1000000' }
    editCatalog(source, 'title: This machine', 'title: Our own')
    const service = await serve(source, rates)
    const body = await order(service)
    const made = (await service.call('POST', '/servers', { ...body, name: 'kept' })).body
    await service.call(
      'GET',
      `/servers/${made.server_id}/operations/${made.current_operation.operation_id}?wait=60`,
    )
    const details = (await service.call('GET', `/servers/${made.server_id}/details`)).body
    expect(details.ssh.password).toMatch(/\w{20}/)

    const stop = keepBusy(service, body)
    const least = counts(source)
    const written = await run(['backup', file], { BERTH_DATA: source, BERTH_PASSPHRASE })
    const most = counts(source)
    expect(await stop()).toBeGreaterThan(4)
    expect(written).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('has the database'),
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(root).sort()).toEqual(['backup.tar', 'source'])
    const key = readFileSync(path.join(source, 'secret.key'), 'utf8').trim()
    expect(readFileSync(file).includes(key)).toBe(false)

    const restored = await run(['restore', file], { BERTH_DATA: copy, BERTH_PASSPHRASE })
    expect(restored).toMatchObject({ code: 0, stderr: '' })
    expect(restored.stdout).toContain(`Its catalogue is ${path.join(copy, 'catalog.yaml')}.`)
    const found = counts(copy)
    for (const [table, count] of Object.entries(found)) {
      expect.soft(count, table).toBeGreaterThanOrEqual(least[table] ?? 0)
      expect.soft(count, table).toBeLessThanOrEqual(most[table] ?? 0)
    }
    await expectWhole(copy)

    // The same token, the same password, the same server; and a disk that is not there is never replaced.
    const elsewhere = await serve(copy, rates)
    expect((await elsewhere.call('GET', '/zones')).body[0].title).toBe('Our own')
    expect((await elsewhere.call('GET', '/account/me')).body.email).toBe('demo@berth.local')
    const there = (await elsewhere.call('GET', `/servers/${made.server_id}/details`)).body
    expect(there.ssh.password).toBe(details.ssh.password)
    await expect
      .poll(async () => (await elsewhere.call('GET', `/servers/${made.server_id}`)).body)
      .toMatchObject({ name: 'kept', status: 'error', status_reason: 'disk_lost' })
    // Servers that were ordered and deleted during the backup may be in it or not.
    for (const { server_id } of (await elsewhere.call('GET', '/servers')).body.items)
      await elsewhere.call('DELETE', `/servers/${server_id}`)
    await expect.poll(async () => (await elsewhere.call('GET', '/servers')).body.total).toBe(0)
    expect((await elsewhere.call('POST', '/servers', body)).status).toBe(202)
  },
  TIMEOUT_MS,
)

/** Makes of the file good.tar what a restore must refuse. */
async function spoil(root: string): Promise<void> {
  const at = (name: string) => path.join(root, name)
  const repack = (name: string, change: (folder: string) => void) => {
    const unpacked = at(`${name}-unpacked`)
    mkdirSync(unpacked)
    execFileSync('tar', ['-xf', at('good.tar'), '-C', unpacked])
    change(unpacked)
    execFileSync('tar', ['-cf', at(name), '-C', unpacked, ...readdirSync(unpacked)])
  }
  const edit = (file: string, from: string, to: string) =>
    writeFileSync(file, readFileSync(file, 'latin1').replace(from, to), 'latin1')
  cpSync(at('good.tar'), at('cut.tar'))
  truncateSync(at('cut.tar'), 100_000)
  writeFileSync(at('else.tar'), 'something else')
  const manifest = JSON.parse(
    execFileSync('tar', ['-xOf', at('good.tar'), 'manifest.json'], { encoding: 'utf8' }),
  )
  repack('newer.tar', (to) => edit(`${to}/manifest.json`, manifest.schema, '9999-later'))
  repack('damaged.tar', (to) => edit(`${to}/berth.db`, 'ann@example.com', 'eve@example.com'))
  repack('outside.tar', (to) => edit(`${to}/manifest.json`, 'catalog.yaml', '../catalog.yaml'))
  const salt = '00'.repeat(16)
  const sealed = (await secretsUnder(BERTH_PASSPHRASE, salt)).seal('{"../planted":"by who made the archive"}')
  repack('planted.tar', (to) => {
    const text = JSON.stringify({ salt, sealed })
    writeFileSync(`${to}/secrets.sealed`, text)
    manifest.files['secrets.sealed'] = { sha256: hash('sha256', text), bytes: text.length }
    writeFileSync(`${to}/manifest.json`, JSON.stringify(manifest))
  })
}

test(
  'a restore that is refused says why in a sentence and leaves nothing behind',
  async () => {
    const root = folder()
    const at = (name: string) => path.join(root, name)
    await installation(at('source'))
    const own = { BERTH_DATA: at('source'), BERTH_PASSPHRASE }
    expect(await run(['backup', at('good.tar')], own)).toMatchObject({ code: 0 })
    await spoil(root)
    const before = readdirSync(root).sort()
    const to = { BERTH_DATA: at('copy'), BERTH_PASSPHRASE }
    for (const [args, env, code, said] of [
      [['restore', at('cut.tar')], to, 1, /cut\.tar is not a complete backup of Berth/],
      [['restore', at('else.tar')], to, 1, /else\.tar is not a complete backup of Berth/],
      [['restore', at('outside.tar')], to, 1, /outside\.tar is not a complete backup of Berth/],
      [
        ['restore', at('newer.tar')],
        to,
        1,
        /newer version of Berth: its schema is 9999-later.*Restore it with that version\.\n$/,
      ],
      [
        ['restore', at('planted.tar')],
        to,
        1,
        /^The passphrase is not the one .* or its secrets are damaged\.\n$/,
      ],
      [['restore', at('damaged.tar')], to, 1, /berth\.db in .*damaged\.tar is damaged\./],
      [
        ['restore', at('good.tar')],
        { ...to, BERTH_PASSPHRASE: 'wrong' },
        1,
        /^The passphrase is not the one/,
      ],
      [['restore', at('good.tar')], { BERTH_DATA: at('copy') }, 2, /^Set BERTH_PASSPHRASE/],
      [['restore', at('good.tar')], own, 2, /source is not empty\./],
      [['restore', at('none.tar')], to, 2, /No such file: .*none\.tar\./],
      [['backup', at('good.tar')], own, 2, /good\.tar already exists\./],
      [['backup', at('new.tar')], to, 2, /No installation found in .*copy\./],
      [['backup', at('new.tar')], { ...own, BERTH_PASSPHRASE: 'short' }, 2, /^The passphrase is too short/],
      [['backup', at('no/new.tar')], own, 2, /No such folder: .*no\./],
    ] as const) {
      const result = await run(args, env)
      expect
        .soft(result, said.source)
        .toMatchObject({ code, stdout: '', stderr: expect.stringMatching(said) })
      expect.soft(result.stderr.trim().split('\n')).toHaveLength(1)
      expect.soft(readdirSync(root).sort()).toEqual(before)
    }
    expect(await run(['restore', at('good.tar')], to)).toMatchObject({ code: 0, stderr: '' })
    expect((await balances(at('copy'))).stdout).toMatch(/ann@example\.com +active +499\.90 RUB/)
  },
  TIMEOUT_MS,
)

test(
  'a backup or a restore that is killed can be started again',
  async () => {
    const root = folder()
    const at = (name: string) => path.join(root, name)
    await installation(at('source'))
    // Creates a tar that kills its caller after its work, except when it only shows a member.
    const [bin, REAL_PATH = ''] = [at('bin'), process.env.PATH]
    mkdirSync(bin)
    const script =
      '#!/bin/sh\nPATH=$REAL_PATH tar "$@"\ncase "$*" in *--to-stdout*) ;; *) kill -9 $PPID ;; esac\n'
    writeFileSync(path.join(bin, 'tar'), script, { mode: 0o755 })
    const killed = async (args: readonly string[], env: Record<string, string>) => {
      const child = berthd(args, { ...env, BERTH_PASSPHRASE, PATH: bin, REAL_PATH })
      expect((await child.ended).signal).toBe('SIGKILL')
    }
    const [file, own, to] = [at('backup.tar'), { BERTH_DATA: at('source') }, { BERTH_DATA: at('copy') }]
    await killed(['backup', file], own)
    expect(existsSync(`${file}.parts`)).toBe(true)
    expect(existsSync(file)).toBe(false)
    expect(await run(['backup', file], { ...own, BERTH_PASSPHRASE })).toMatchObject({ code: 0, stderr: '' })
    await killed(['restore', file], to)
    expect(existsSync(`${at('copy')}.restoring`)).toBe(true)
    expect(existsSync(at('copy'))).toBe(false)
    expect(await run(['restore', file], { ...to, BERTH_PASSPHRASE })).toMatchObject({ code: 0, stderr: '' })
    expect((await balances(at('copy'))).stdout).toMatch(/ann@example\.com +active +499\.90 RUB/)
    expect(readdirSync(root).sort()).toEqual(['backup.tar', 'bin', 'copy', 'source'])
  },
  TIMEOUT_MS,
)
