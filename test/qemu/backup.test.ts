import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { Service } from './harness/service.ts'

const [source, target] = [new Service(), new Service()]
const backups = mkdtempSync(path.join(tmpdir(), 'berth-backup-'))

afterAll(async () => {
  // A test that succeeds has already disposed of the source.
  await source.dispose().catch(() => {})
  await target.dispose()
  rmSync(backups, { recursive: true })
})

async function berthd(args: readonly string[], { dataDir }: Service): Promise<string> {
  const env = { ...process.env, BERTH_DATA: dataDir, BERTH_PASSPHRASE: 'correct horse battery' }
  return (await promisify(execFile)(process.execPath, ['api/main.ts', ...args], { env })).stdout
}

test('a restored backup starts a stopped server from its disk, and never replaces the lost disk of one that was on', async () => {
  await source.prepare()
  await source.start()
  const key = await source.addKey()
  const identity = path.join(backups, 'id_ed25519')
  copyFileSync(key.identity, identity)
  const { server_id: off } = await source.create({ name: 'off', ssh_key_ids: [key.sshKeyId] })
  const { server_id: on } = await source.create({ name: 'on', ssh_key_ids: [key.sshKeyId] })
  await source.settle(off)
  await source.settle(on)
  await source.ssh(off, 'echo precious > file && sync', identity)
  await source.act(off, 'stop')

  const file = path.join(backups, 'backup.tar')
  const said = await berthd(['backup', '--disks', file], source)
  expect(said).toContain('specifications of machines (2) and disks (1).')
  expect(said).toContain(`It does not include the disk of ${on}: the server is on`)
  await berthd(['restore', file], target)
  // The source is removed completely, because the restored data must not depend on it.
  await source.dispose()

  await target.start()
  await target.act(off, 'start')
  expect(await target.ssh(off, 'hostname && cat file', identity)).toBe('off\nprecious')
  const { body } = await target.call('GET', `/servers/${on}`)
  expect(body).toMatchObject({ status: 'error', status_reason: 'disk_lost' })
  expect(existsSync(path.join(target.dataDir, 'machines-without-disk', on, 'spec.json'))).toBe(true)
  expect(existsSync(path.join(target.dataDir, 'vms', on))).toBe(false)
})
