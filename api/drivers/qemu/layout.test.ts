import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { PLAIN_NETWORK } from '../driver.ts'
import { qemuArguments } from './command.ts'
import { Layout, readRecord } from './layout.ts'
import { boundLog, endOfLog } from './logs.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-layout-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a log stays small and keeps its last lines; a link in its place is not followed', async () => {
  const path = join(folder, 'serial.log')
  appendFileSync(path, 'x'.repeat(1_200_000))
  appendFileSync(path, 'the end')
  await boundLog(path)
  expect(statSync(path).size).toBe(64 * 1024)
  expect(await endOfLog(path, 7)).toBe('the end')
  const link = join(folder, 'link.log')
  symlinkSync(path, link)
  await expect(boundLog(link)).rejects.toThrow('ELOOP')
  expect(await endOfLog(join(folder, 'none.log'), 7)).toBe('')
})

test('sockets of a data folder with a long path are in a short path of the service', () => {
  const layout = new Layout(join(folder, 'long'.repeat(40)))
  const sockets = layout.socketFolder('0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee')
  expect(join(sockets, 'serial.sock').length).toBeLessThanOrEqual(107)
  expect(statSync(sockets).mode & 0o777).toBe(0o700)
  rmSync(join(sockets, '..'), { recursive: true })
})

test('an id that leads out of the folder is refused', () => {
  const layout = new Layout(folder)
  for (const id of ['', '..', 'a/b', '.x', 'a'.repeat(65)])
    expect(() => layout.files(id)).toThrow('cannot be')
})

test('a comma in a path does not end an option of QEMU', () => {
  const layout = new Layout(join(folder, 'a,b'))
  mkdirSync(layout.machines, { recursive: true })
  const files = layout.files('m')
  const spec = {
    serverId: 'm',
    owner: 'o',
    hostname: 'm',
    cpu: 1,
    ramMb: 128,
    diskGb: 1,
    diskId: 'first',
    instanceId: 'm',
    cpuType: 'amd' as const,
  }
  const more = {
    username: 'a',
    sshPublicKeys: [],
    interfaces: [{ mac: '52:54:00:00:00:01', addresses: [] }],
  }
  const record = { uuid: 'u', spec: { ...spec, ...more }, passwordHash: null, network: null }
  const disk = { base: '/b', direct: null }
  const args = qemuArguments({ ...record, ...disk }, files, files.run, 'tcg', {
    netdev: 'user,id=n0',
    plugs: null,
    volumes: [],
  })
  expect(args.join(' ')).toContain('a,,b/vms/m/run/qmp.sock')
  expect(args).not.toContain('-kernel')
})

test('the record of a machine from an earlier version is read as the machine runs', async () => {
  const files = new Layout(folder).files('old')
  mkdirSync(files.dir, { recursive: true })
  expect(await readRecord(files)).toBeNull()
  const size = {
    serverId: 'old',
    owner: 'old',
    hostname: 'old',
    cpu: 1,
    ramMb: 128,
    diskGb: 1,
    cpuType: 'amd',
  }
  const login = { username: 'ann', sshPublicKeys: ['ssh-ed25519 AAAA'] }
  const boot = { uuid: 'u', passwordHash: null, base: '/images/x/disk.qcow2', direct: null }
  const mac = '52:54:00:12:34:56'
  const image = { slug: 'micro', sources: [{ type: 'build', name: 'micro' }] }
  const old = { ...size, image, ...login, mac, sshPort: 22_001 }
  writeFileSync(files.record, JSON.stringify({ ...boot, spec: old }))
  const forwards = [{ protocol: 'tcp', hostPort: 22_001, guestPort: 22 }]
  const spec = { ...size, ...login, diskId: '', instanceId: 'old', interfaces: [{ mac, addresses: [] }] }
  const network = {
    ...PLAIN_NETWORK,
    number: 0,
    ports: [{ protocol: 'tcp', hostPort: 22_001, port: 22 }],
  }
  expect(await readRecord(files)).toMatchObject({ ...boot, spec, network })
  writeFileSync(files.record, JSON.stringify({ ...boot, spec: { ...old, sshPort: 0 } }))
  expect((await readRecord(files))?.network?.ports).toEqual([])
  writeFileSync(
    files.record,
    JSON.stringify({ ...boot, spec: { ...size, ...login, interfaces: [{ mac }], forwards } }),
  )
  expect(await readRecord(files)).toEqual({ ...boot, spec, network })
})
