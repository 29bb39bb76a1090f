// Copies off site of a zone on Incus, through the whole service: snapshots and daily backups, and what is left without a host.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPostgres } from '../../api/database/postgres.ts'
import { at, type IncusClient } from '../../api/drivers/incus/client.ts'
import { stockOf } from '../../api/drivers/incus/stock.ts'
import { run as berthd } from '../process/harness/berthd.ts'
import { until } from '../qemu/harness/service.ts'
import { ClusterService, ZONE } from './harness/service.ts'

const TIMEOUT_MS = 400_000
const SENT_MS = 120_000

let service: ClusterService
let client: IncusClient
let identity: string
let sshKeyId: string
const place = mkdtempSync(path.join(tmpdir(), 'berth-place-'))
beforeAll(async () => {
  const flags = ['--rate-limits', '1000000,1000000,1000000', '--offsite', place]
  service = await ClusterService.open(2, flags, { hasExports: true })
  client = service.cluster.client()
  ;({ identity, sshKeyId } = await service.addKey())
})
afterAll(async () => {
  client?.close()
  await service?.dispose()
  rmSync(place, { recursive: true, force: true })
})

const call = (method: string, url: string, body?: object) => service.call(method, url, body)
const run = (id: string, command: string) => service.ssh(id, command, identity)

async function running(more: Record<string, unknown>): Promise<string> {
  const { server_id } = await service.create({ ssh_key_ids: [sshKeyId], ...more })
  await service.settle(server_id)
  return server_id
}

/** Deletes an instance in the cluster, as a lost disk of a member does. */
async function lose(name: string): Promise<void> {
  const project = { project: 'berth' }
  await client.call('PUT', at(`/1.0/instances/${name}/state`, project), {
    body: { action: 'stop', force: true, timeout: 30 },
  })
  await until(`${name} is gone`, 60_000, async () => {
    await client.call('DELETE', at(`/1.0/instances/${name}`, project)).catch(() => {})
    const left = await client.get<{ name: string }[]>(at('/1.0/instances', { ...project, recursion: '1' }))
    return !left.some((instance) => instance.name === name)
  })
}

/** The names of the exports that are left in the cluster. */
async function exportsOf(snapshotId: string): Promise<string[]> {
  return client.get<string[]>(at(`/1.0/instances/s-${snapshotId}/backups`, { project: 'berth' }))
}

test('a server and its snapshot that the cluster has lost are restored from the copy off site', {
  timeout: TIMEOUT_MS,
}, async () => {
  const db = openPostgres(service.databaseUrl)
  onTestFinished(() => db.destroy())
  const id = await running({ name: 'kept' })
  await run(id, 'echo before > data; sync')
  const { body } = await call('POST', '/snapshots', { server_id: id })
  const { snapshot_id } = body
  await service.settle(id)
  const shown = async () => (await call('GET', `/snapshots/${snapshot_id}`)).body
  await until('it is off site', SENT_MS, async () => (await shown()).offsite_at !== null)
  expect(readdirSync(path.join(place, snapshot_id))).toContain('copy.json.age')
  await until('no export is left', SENT_MS, async () => (await exportsOf(snapshot_id)).length === 0)

  // The clock of the processes can't be set, so the row is made due.
  const due = db.updateTable('snapshots').set({ verify_due_at: 0 })
  await due.where('snapshot_id', '=', snapshot_id).execute()
  await until('it is verified', SENT_MS, async () => (await shown()).verified_at !== null)
  expect(await shown()).toMatchObject({ status: 'available', verified_by: 'hash' })

  await run(id, 'echo after > data; sync')
  for (const name of [`b-${id}`, `s-${snapshot_id}`]) await lose(name)
  const restored = await call('POST', `/servers/${id}/restore`, { snapshot_id })
  expect([restored.status, restored.body.code]).toEqual([202, undefined])
  await service.settle(id)
  expect(await run(id, 'cat data; hostname')).toBe('before\nkept')
  await service.clear()
  expect((await call('DELETE', `/snapshots/${snapshot_id}`)).status).toBe(204)
  await until('nothing is left off site', SENT_MS, () => readdirSync(place).length === 0)
})

test('a server is backed up at its hour, copied off site, and restored from there', {
  timeout: TIMEOUT_MS,
}, async () => {
  const db = openPostgres(service.databaseUrl)
  onTestFinished(() => db.destroy())
  const zones = (await call('GET', '/zones')).body
  expect(zones[0]).toMatchObject({ zone_slug: ZONE, features: expect.arrayContaining(['backups']) })
  const id = await running({ name: 'daily', backups_enabled: true })
  await run(id, 'echo day > data; sync')
  const backups = async () => (await call('GET', `/servers/${id}/backups`)).body.items
  for (const number of [1, 2]) {
    await db.updateTable('servers').set({ backup_due_at: 0 }).where('server_id', '=', id).execute()
    await until('a backup is off site', SENT_MS, async () => {
      const stored = (await backups()).filter(
        ({ offsite_at }: { offsite_at: string | null }) => offsite_at !== null,
      )
      return stored.length === number
    })
  }
  const [{ backup_id, kind }] = await backups()
  expect(kind).toBe('full')
  await run(id, 'echo later > data; sync')
  await lose(`s-${backup_id}`)
  const restored = await call('POST', `/servers/${id}/restore`, { backup_id })
  expect([restored.status, restored.body.code]).toEqual([202, undefined])
  await service.settle(id)
  expect(await run(id, 'cat data')).toBe('day')
  await service.clear()
})

/** Lists the instances of servers, each with its member, and whether the member answers. */
async function machines(): Promise<{ name: string; location: string; answers: boolean }[]> {
  const path = at('/1.0/instances', { project: 'berth', recursion: '1' })
  const all = await client.get<{ name: string; location: string; config: object | null }[]>(path)
  const found = all.map(({ config, ...rest }) => ({ ...rest, answers: config !== null }))
  return found.filter(({ name }) => name.startsWith('b-'))
}

/** Runs `berthd host rebuild` beside the service. @returns the report, with the line of each server by its id */
async function rebuild() {
  const settings = { BERTH_DATA: service.dataDir, BERTH_OFFSITE: place, DATABASE_URL: service.databaseUrl }
  const done = await berthd(['host', 'rebuild'], settings)
  const lineOf = (id: string) => done.stdout.split('\n').find((line) => line.startsWith(id))
  return { ...done, lineOf }
}

test('one command restores the servers that a cluster has lost, and spares those of a member that is only offline', {
  timeout: TIMEOUT_MS,
}, async () => {
  const ids = [await running({ name: 'one' }), await running({ name: 'two' })]
  expect((await rebuild()).stdout).toContain('No server has lost its disk.\n')
  const homes = new Map((await machines()).map(({ name, location }) => [name.slice(2), location]))
  const [lost = '', away = ''] = ids.sort((a, b) => String(homes.get(a)).localeCompare(String(homes.get(b))))
  expect([homes.get(lost), homes.get(away)]).toEqual(['m1', 'm2'])
  const bare = await running({ name: 'bare' })
  await run(lost, 'echo kept > data; sync')
  const { snapshot_id } = (await call('POST', '/snapshots', { server_id: lost })).body
  await service.settle(lost)
  const isSent = async () => (await call('GET', `/snapshots/${snapshot_id}`)).body.offsite_at !== null
  await until('it is off site', SENT_MS, isSent)
  await run(lost, 'echo later > data; sync')
  for (const name of [`b-${lost}`, `s-${snapshot_id}`, `b-${bare}`]) await lose(name)
  await service.cluster.kill('m2')
  const isAway = async () => (await machines()).some(({ name, answers }) => name === `b-${away}` && !answers)
  await until('the member is known to be offline', SENT_MS, isAway)

  const report = await rebuild()
  expect([report.code, report.stderr]).toEqual([0, ''])
  expect(report.lineOf(lost)).toMatch(/ restoring$/)
  expect(report.lineOf(bare)).toMatch(/ lost: it has no copy$/)
  expect(report.lineOf(away)).toMatch(/ left as it is: its member does not answer$/)
  await service.settle(lost)
  expect(await run(lost, 'cat data; hostname')).toMatch(/^kept\n(one|two)$/)
  expect((await machines()).map(({ name }) => name).sort()).toEqual([`b-${away}`, `b-${lost}`].sort())

  await service.cluster.start('m2')
  await until('the member is back', SENT_MS, async () => !(await isAway()))
  const later = await rebuild()
  expect([later.lineOf(lost), later.lineOf(away)]).toEqual([undefined, undefined])
  await service.clear()
})

test('a cluster that does not answer, or has another project, counts as no loss', {
  timeout: TIMEOUT_MS,
}, async () => {
  const id = await running({ name: 'safe' })
  const members = service.cluster.names
  for (const name of members) await service.cluster.kill(name)
  const silent = await rebuild()
  expect([silent.code, silent.lineOf(id)]).toEqual([1, undefined])
  expect(silent.stderr).toContain(`Zone ${ZONE} was left out: `)
  await Promise.all(members.map((name) => service.cluster.start(name)))
  await until('the cluster is back', SENT_MS, () =>
    machines().then(
      () => true,
      () => false,
    ),
  )
  await expect(stockOf({ ...service.zone, project: 'elsewhere' })).rejects.toMatchObject({
    code: 'unavailable',
  })
  await service.clear()
})
