import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { addressesOf } from '../addresses.ts'
import { fat12Volume } from './fat12.ts'
import { type SeedSettings, seedVolume, withCards } from './seed.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-seed-'))
afterAll(() => rmSync(folder, { recursive: true }))

const settings: SeedSettings = {
  instanceId: 'srv-1',
  hostname: 'web-1',
  username: 'ann',
  sshPublicKeys: ['ssh-ed25519 AAAA ann@home', 'ssh-rsa BBBB "quoted" comment'],
  userData: null,
  interfaces: [{ mac: '52:54:00:12:34:56', addresses: Object.values(addressesOf(65_537)) }],
  passwordHash: null,
}

/** The files of a volume, read by following its tables, as any FAT driver does. */
function filesOf(image: Buffer): Map<string, string> {
  const rootStart = (1 + 2 * image.readUInt16LE(22)) * 512
  const dataStart = rootStart + image.readUInt16LE(17) * 32
  const cluster = (image[13] ?? 0) * 512
  const next = (n: number) => {
    const pair = image.readUInt16LE(512 + n + (n >> 1))
    return n & 1 ? pair >> 4 : pair & 0xfff
  }
  const files = new Map<string, string>()
  let name = ''
  for (let at = rootStart; image[at] !== 0; at += 32) {
    if (image[at + 11] === 0x0f) {
      const piece = Buffer.concat([
        image.subarray(at + 1, at + 11),
        image.subarray(at + 14, at + 26),
        image.subarray(at + 28, at + 32),
      ])
      name = (piece.toString('utf16le').split('\0')[0] ?? '') + name
    } else if (image[at + 11] === 0x20) {
      const parts: Buffer[] = []
      for (let n = image.readUInt16LE(at + 26); n >= 2 && n < 0xff8; n = next(n))
        parts.push(image.subarray(dataStart + (n - 2) * cluster, dataStart + (n - 1) * cluster))
      files.set(name, Buffer.concat(parts).toString('utf8', 0, image.readUInt32LE(at + 28)))
      name = ''
    }
  }
  return files
}

test('without user data of the customer, the seed has only the vendor data of the service', () => {
  const files = filesOf(seedVolume(settings))
  expect([...files.keys()].sort()).toEqual(['meta-data', 'network-config', 'user-data', 'vendor-data'])
  expect(files.get('meta-data')).toBe('instance-id: "srv-1"\nlocal-hostname: "web-1"\n')
  expect(files.get('user-data')).toBe('#cloud-config\n{}\n')
  const [header, ...json] = (files.get('vendor-data') ?? '').split('\n')
  expect(header).toBe('#cloud-config')
  expect(JSON.parse(json.join('\n'))).toEqual({
    hostname: 'web-1',
    preserve_hostname: false,
    users: [
      {
        name: 'ann',
        shell: '/bin/bash',
        sudo: 'ALL=(ALL) NOPASSWD:ALL',
        lock_passwd: true,
        ssh_authorized_keys: settings.sshPublicKeys,
      },
    ],
    ssh_pwauth: false,
    ssh_genkeytypes: ['ed25519', 'ecdsa'],
    disable_root: true,
    updates: { network: { when: ['boot'] } },
  })
})

test('a guest gets its addresses from the seed, and uses DHCP only if the seed has none', () => {
  const config = (interfaces: SeedSettings['interfaces']) =>
    JSON.parse(filesOf(seedVolume({ ...settings, interfaces })).get('network-config') ?? '')
  const card = { match: { macaddress: '52:54:00:12:34:56' }, 'set-name': 'eth0' }
  expect(config(settings.interfaces)).toEqual({
    version: 2,
    ethernets: {
      id0: {
        ...card,
        dhcp4: false,
        dhcp6: false,
        'accept-ra': false,
        addresses: ['10.68.0.6/30', 'fd62:6572:7401:1::2/64'],
        routes: [{ to: '0.0.0.0/0', via: '10.68.0.5' }],
        gateway6: 'fe80::1',
        nameservers: { addresses: ['10.64.0.1'] },
      },
    },
  })
  const { mac } = settings.interfaces[0] ?? { mac: '' }
  expect(config([{ mac, addresses: [] }]).ethernets.id0).toEqual({ ...card, dhcp4: true })
})

test('private cards are added to a seed by their MAC addresses, and the rest of the seed stays', () => {
  const before = seedVolume({ ...settings, userData: '#!/bin/sh\n', passwordHash: '$6$x$y' })
  const card = { network: 5, mac: '52:54:0a:00:00:01', address: '10.1.0.2', prefixLength: 24 }
  const after = withCards(before, settings, [card])
  const config = JSON.parse(filesOf(after).get('network-config') ?? '')
  expect(config.ethernets.id0).toEqual(JSON.parse(filesOf(before).get('network-config') ?? '').ethernets.id0)
  expect(config.ethernets.id1).toEqual({
    match: { macaddress: '52:54:0a:00:00:01' },
    'set-name': 'eth1',
    dhcp4: false,
    dhcp6: false,
    'accept-ra': false,
    optional: true,
    addresses: ['10.1.0.2/24'],
  })
  for (const name of ['meta-data', 'vendor-data', 'user-data'])
    expect(filesOf(after).get(name)).toBe(filesOf(before).get(name))
  expect(withCards(after, settings, []).equals(before)).toBe(true)
})

test('user data of 64 KB arrives byte for byte', () => {
  const userData = `#!/bin/sh\n# ${'ü\t"\'$('.repeat(9000)}`.slice(0, 60_000)
  expect(filesOf(seedVolume({ ...settings, userData })).get('user-data')).toBe(userData)
})

test('a password enables SSH logins by password, and the user may be root', () => {
  const files = filesOf(seedVolume({ ...settings, username: 'root', passwordHash: '$6$x$y' }))
  const config = JSON.parse((files.get('vendor-data') ?? '').replace('#cloud-config\n', ''))
  expect(config).toMatchObject({ ssh_pwauth: true, disable_root: false })
  expect(config.users[0]).toMatchObject({ name: 'root', lock_passwd: false, hashed_passwd: '$6$x$y' })
})

test('values that do not fit are refused', () => {
  expect(() => fat12Volume('X', new Map([['big', Buffer.alloc(1_500_000)]]))).toThrow(RangeError)
  const many = new Map(Array.from({ length: 40 }, (_, i) => [`file-${i}`, Buffer.alloc(1)] as const))
  expect(() => fat12Volume('X', many)).toThrow(RangeError)
})

test.skipIf(spawnSync('fsck.fat', ['--version']).error)('fsck.fat finds nothing wrong', () => {
  const path = join(folder, 'seed.img')
  writeFileSync(path, seedVolume(settings))
  expect(execFileSync('fsck.fat', ['-n', '-v', path], { encoding: 'utf8' })).not.toMatch(
    /error|differ|wrong/i,
  )
})

test.skipIf(spawnSync('mcopy', ['--version']).error)('mtools reads it', () => {
  const path = join(folder, 'seed.img')
  writeFileSync(path, seedVolume(settings))
  expect(execFileSync('mlabel', ['-s', '-i', path, '::'], { encoding: 'utf8' })).toContain('CIDATA')
  expect(execFileSync('mcopy', ['-i', path, '::meta-data', '-'], { encoding: 'utf8' })).toContain('srv-1')
})
