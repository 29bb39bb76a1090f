import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Decrypter, generateX25519Identity } from 'age-encryption'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../clock.ts'
import type { SnapshotFile, SnapshotFiles } from '../drivers/snapshots.ts'
import { BucketPlace } from './bucket.ts'
import { FolderPlace, type Place, PlaceError } from './place.ts'
import { Sealer } from './sealer.ts'
import { TestBucket } from './test-bucket.ts'
import { Vault } from './vault.ts'

const PART = 1000
const IDENTITY = await generateX25519Identity()
const DISK = randomBytes(2500)

/** A host with snapshots in memory. */
function host(ids: readonly string[] = []): SnapshotFiles & { kept: Map<string, Map<string, Buffer>> } {
  const files = () =>
    new Map<string, Buffer>([
      ['disk', DISK],
      ['empty', Buffer.alloc(0)],
    ])
  const kept = new Map(ids.map((id) => [id, files()]))
  const written = new Map<string, Map<string, Buffer>>()
  const describe = ([name, bytes]: [string, Buffer]): SnapshotFile => {
    return { name, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  }
  return {
    kept,
    list: async (id) => [...(kept.get(id) ?? [])].map(describe),
    read: async (id, { name, at, length }) =>
      kept
        .get(id)
        ?.get(name)
        ?.subarray(at, at + length) ?? Buffer.alloc(0),
    write: async (id, { name, at, bytes }) => {
      const own = written.get(id) ?? new Map<string, Buffer>()
      written.set(id, own)
      own.set(name, Buffer.concat([(own.get(name) ?? Buffer.alloc(0)).subarray(0, at), bytes]))
    },
    accept: async (id, wanted) => {
      const own = written.get(id) ?? new Map<string, Buffer>()
      if (JSON.stringify([...own].map(describe)) !== JSON.stringify(wanted)) return 'disk'
      kept.set(id, own)
      return null
    },
  }
}

async function bucket(): Promise<TestBucket> {
  const server = new TestBucket()
  await server.listen()
  onTestFinished(() => server.close())
  return server
}

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'berth-offsite-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const SEALER = new Sealer(IDENTITY)
const open = (place: Place) => new Vault(place, SEALER, { partBytes: PART })
const noted = async () => true
const wanted = (sha256: string) => ({ sha256, progress: () => {}, signal: new AbortController().signal })

async function sent(vault: Vault, id = 'one', source = host([id])) {
  const done = await vault.send(source, id, { done: 0, noted, there: null })
  if (!done) throw new Error('it was not sent')
  return done
}

test('a host knows from the first part of a copy how many bytes will follow', async () => {
  const vault = open(new FolderPlace(folder()))
  const sha256 = await sent(vault)
  const target = host()
  const lefts: (number | undefined)[] = []
  const { write } = target
  target.write = async (id, part) => {
    lefts.push(part.left)
    await write(id, part)
  }
  expect(await vault.bring(target, 'one', wanted(sha256))).toBeNull()
  expect(lefts).toEqual([1500, 500, 0, 0])
})

for (const [name, openPlace] of [
  ['a bucket', async () => new BucketPlace((await bucket()).place(), systemClock)],
  ['a folder in a bucket', async () => new BucketPlace((await bucket()).place('/berth/host-1'), systemClock)],
  ['a folder', async () => new FolderPlace(folder())],
] as const)
  test(`a copy in ${name} is brought back as it was, and nothing is left of it once it is removed`, async () => {
    const place = await openPlace()
    const vault = open(place)
    const sha256 = await sent(vault)
    await sent(vault, 'two')
    const other = host()
    expect(await vault.bring(other, 'one', wanted(sha256))).toBeNull()
    expect(other.kept.get('one')).toEqual(host(['one']).kept.get('one'))
    expect((await vault.list()).sort()).toEqual(['one', 'two'])
    expect((await place.list('one')).sort()).toEqual([
      'copy.json.age',
      'disk.000000.age',
      'disk.000001.age',
      'disk.000002.age',
      'empty.000000.age',
    ])
    await vault.remove('one')
    await vault.remove('one')
    expect(await vault.list()).toEqual(['two'])
  })

test('an interrupted copy resumes at its next part, even if the server fails now and then', async () => {
  const server = await bucket()
  const vault = open(new BucketPlace(server.place(), systemClock))
  let parts = 0
  const until = (most: number) => async (done: number) => {
    parts = done
    return done < most
  }
  expect(await vault.send(host(['one']), 'one', { done: 0, noted: until(2), there: null })).toBeNull()
  server.seen.length = 0
  server.statuses = [503, 500]
  const done = await vault.send(host(['one']), 'one', { done: parts, noted, there: null })
  expect(server.seen).toEqual([
    'PUT one/disk.000002.age',
    'PUT one/empty.000000.age',
    'PUT one/copy.json.age',
  ])
  expect(await vault.bring(host(), 'one', wanted(done ?? ''))).toBeNull()
})

/** A host that exports its snapshot again at each turn, with other file names and other bytes. */
function exporting(turn: number): SnapshotFiles {
  const source = host(['one'])
  const name = `e-${turn}.tar.gz`
  const bytes = Buffer.concat([DISK, Buffer.from(`${turn}`)])
  source.kept.set('one', new Map([[name, bytes]]))
  return { ...source, areExports: true }
}

test('an interrupted copy resumes with the same export, and starts over with another one', async () => {
  const server = await bucket()
  const vault = open(new BucketPlace(server.place(), systemClock))
  const until = (most: number) => async (done: number) => done < most
  const send = (turn: number, done: number, most = 9) =>
    vault.send(exporting(turn), 'one', { done, noted: until(most), there: null })
  const puts = () => server.seen.splice(0).filter((request) => request.startsWith('PUT'))
  await send(1, 0, 2)
  expect(puts()).toHaveLength(2)
  const sha256 = await send(1, 2)
  expect(puts()).toEqual(['PUT one/e-1.tar.gz.000002.age', 'PUT one/copy.json.age'])
  await send(2, 0, 2)
  puts()
  const other = await send(3, 2)
  expect(puts()).toHaveLength(4)
  expect([...server.objects.keys()].filter((key) => key.includes('e-3'))).toHaveLength(3)
  expect(server.objects.size).toBe(4)
  expect(other).not.toBe(sha256)
  expect(await vault.bring(host(), 'one', wanted(other ?? ''))).toBeNull()
})

test('a check finds a copy whole or damaged without bringing it back', async () => {
  const server = await bucket()
  const vault = open(new BucketPlace(server.place(), systemClock))
  const sha256 = await sent(vault)
  expect(await vault.check('one', wanted(sha256))).toBeNull()
  exchange(server, 'one/disk.000000.age', 'one/disk.000001.age')
  expect(await vault.check('one', wanted(sha256))).toMatchObject({ snapshotId: 'one' })
})

test('a place that refuses or is unreachable causes a PlaceError that says so, without the secret', async () => {
  const server = await bucket()
  const wrong = new BucketPlace({ ...server.place(), secretAccessKey: 'another' }, systemClock)
  const refused = await wrong.list('').catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(PlaceError)
  expect(String(refused)).toMatch(/answered GET with 403 SignatureDoesNotMatch/)
  const noBucket = { ...server.place(), url: server.place().url.replace('copies', 'others') }
  await expect(new BucketPlace(noBucket, systemClock).get('one')).rejects.toThrow(/404 NoSuchBucket/)
  const away = new BucketPlace(server.place(), systemClock)
  await server.close()
  await expect(away.put('one', DISK)).rejects.toThrow(/can't be reached/)
  const absent = new FolderPlace(path.join(folder(), 'absent'))
  for (const use of [() => absent.put('one', DISK), () => absent.list(''), () => absent.remove('one/part')])
    await expect(use()).rejects.toBeInstanceOf(PlaceError)
})

test('a copy that was changed, truncated or forged is rejected', async () => {
  const server = await bucket()
  const vault = open(new BucketPlace(server.place(), systemClock))
  const sha256 = await sent(vault)
  const whole = new Map(server.objects)
  const tampered: [string, () => void][] = [
    ['a part is missing', () => server.objects.delete('one/disk.000001.age')],
    ['a bit is another', () => flipped(server, 'one/disk.000001.age')],
    ['parts are exchanged', () => exchange(server, 'one/disk.000000.age', 'one/disk.000001.age')],
    ['the list is missing', () => server.objects.delete('one/copy.json.age')],
  ]
  for (const [what, change] of tampered) {
    change()
    const damage = await vault.bring(host(), 'one', wanted(sha256))
    expect([what, damage]).toEqual([what, { snapshotId: 'one', reason: expect.any(String) }])
    for (const [key, bytes] of whole) server.objects.set(key, bytes)
  }
  // Anybody who knows the public key can write a list.
  const forger = open(new BucketPlace(server.place(), systemClock))
  await sent(forger, 'one', { ...host(['one']), read: async (_, { length }) => Buffer.alloc(length) })
  expect(await vault.bring(host(), 'one', wanted(sha256))).toMatchObject({
    reason: expect.stringContaining('disk of one'),
  })
})

function flipped({ objects }: TestBucket, key: string): void {
  const bytes = Buffer.from(objects.get(key) ?? '')
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  objects.set(key, bytes)
}

function exchange({ objects }: TestBucket, a: string, b: string): void {
  const [first, second] = [objects.get(a), objects.get(b)]
  if (!first || !second) throw new Error('there are no such parts')
  objects.set(a, second).set(b, first)
}

test('the parts of a file are age files, which give the file one after the other', async () => {
  const place = folder()
  await sent(open(new FolderPlace(place)))
  const parts = ['000000', '000001', '000002'].map((number) => path.join(place, 'one', `disk.${number}.age`))
  const decrypter = new Decrypter()
  decrypter.addIdentity(IDENTITY)
  const kept = new FolderPlace(place)
  const opened = await Promise.all(
    parts.map(async (file) => decrypter.decrypt((await kept.get(path.relative(place, file))) ?? DISK)),
  )
  expect(Buffer.concat(opened)).toEqual(DISK)
  // Operators open copies with the program age, which this machine may lack.
  const program = ['/usr/bin/age', process.env.BERTH_TEST_AGE ?? ''].find(existsSync)
  if (!program) return
  const key = path.join(place, 'key.txt')
  mkdirSync(path.dirname(key), { recursive: true })
  writeFileSync(key, `${IDENTITY}\n`)
  const read = parts.map((file) => execFileSync(program, ['--decrypt', '--identity', key, file]))
  expect(Buffer.concat(read)).toEqual(DISK)
})
