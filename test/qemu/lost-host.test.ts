import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TestBucket } from '../../api/offsite/test-bucket.ts'
import { Service } from './harness/service.ts'

const [lost, rebuilt] = [new Service(), new Service()]
const elsewhere = mkdtempSync(path.join(tmpdir(), 'berth-elsewhere-'))
const bucket = new TestBucket()

beforeAll(async () => {
  await bucket.listen()
  const { url, region, accessKeyId, secretAccessKey } = bucket.place()
  const keys = `${accessKeyId}:${encodeURIComponent(secretAccessKey)}`
  process.env.BERTH_OFFSITE = `s3+${url.replace('//', `//${keys}@`)}?region=${region}`
})
afterAll(async () => {
  // A test that succeeds has already disposed of the lost host.
  await lost.dispose().catch(() => {})
  await rebuilt.dispose()
  await bucket.close()
  delete process.env.BERTH_OFFSITE
  rmSync(elsewhere, { recursive: true })
})

async function berthd(args: readonly string[], { dataDir }: Service): Promise<string> {
  const env = { ...process.env, BERTH_DATA: dataDir, BERTH_PASSPHRASE: 'correct horse battery' }
  return (await promisify(execFile)(process.execPath, ['api/main.ts', ...args], { env })).stdout
}

interface Backup {
  backup_id: string
  status: string
  offsite_at: string | null
}

/** Waits until a server has this many backups, all of them off site. The clock is real, so the row is made due. */
async function backedUp(id: string, count: number): Promise<Backup[]> {
  const database = new DatabaseSync(path.join(lost.dataDir, 'berth.db'), { timeout: 5_000 })
  database.prepare('UPDATE servers SET backup_due_at = 0 WHERE server_id = ?').run(id)
  database.close()
  const list = async (): Promise<Backup[]> => (await lost.call('GET', `/servers/${id}/backups`)).body.items
  const stored = async () => (await list()).filter(({ offsite_at }) => offsite_at !== null).length
  await expect.poll(stored, { timeout: 300_000, interval: 2_000 }).toBe(count)
  return list()
}

test('a host lost with all its disks is rebuilt from a bucket, from a full backup and from a difference', async () => {
  await lost.prepare()
  await lost.start()
  const key = await lost.addKey()
  const identity = path.join(elsewhere, 'id_ed25519')
  copyFileSync(key.identity, identity)
  const ids: string[] = []
  for (const name of ['once', 'twice']) {
    const { server_id } = await lost.create({ name, ssh_key_ids: [key.sshKeyId], backups_enabled: true })
    await lost.settle(server_id)
    await lost.ssh(server_id, 'head -c 3000000 /dev/urandom > kept && md5sum kept > sums && sync', identity)
    await backedUp(server_id, 1)
    ids.push(server_id)
  }
  const [once = '', twice = ''] = ids
  await lost.ssh(twice, 'head -c 500000 /dev/urandom > later && md5sum later >> sums && sync', identity)
  const [difference] = await backedUp(twice, 2)
  const full = path.join(lost.dataDir, 'snapshots', String(difference?.backup_id), 'base.qcow2')
  expect(existsSync(full)).toBe(true)
  await lost.ssh(twice, 'echo too late > sums && sync', identity)
  const file = path.join(elsewhere, 'backup.tar')
  await berthd(['backup', file], lost)
  await lost.dispose()

  await berthd(['restore', file], rebuilt)
  await rebuilt.start()
  const said = await berthd(['host', 'rebuild'], rebuilt)
  for (const id of [once, twice]) expect(said).toMatch(new RegExp(`${id} .* restoring\n`))
  for (const id of [once, twice]) await rebuilt.settle(id)
  expect(await rebuilt.ssh(once, 'hostname && md5sum -c sums', identity)).toBe('once\nkept: OK')
  expect(await rebuilt.ssh(twice, 'hostname && md5sum -c sums', identity)).toBe('twice\nkept: OK\nlater: OK')
})
