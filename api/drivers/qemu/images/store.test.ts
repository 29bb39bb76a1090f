import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ImageSource, ImageSpec } from '../../images.ts'
import { bootableIso } from '../../test-iso.ts'
import { findChecksum } from './checksum.ts'
import { willBeBuilt } from './source.ts'
import { LocalImages } from './store.ts'
import { ImageServer, TestClock } from './test-server.ts'

const STALL = 77_777
let dir: string
let server: ImageServer
let clock: TestClock
let log: string[]
let stores: LocalImages[]

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'berth-store-'))
  server = new ImageServer(diskImage('a'))
  await server.listen()
  clock = new TestClock(STALL)
  log = []
  stores = []
})

afterEach(async () => {
  for (const store of stores) await store.close()
  server.close()
  rmSync(dir, { recursive: true, force: true })
})

/** A qcow2 of some 1.3 MB whose content depends on the seed. */
function diskImage(seed: string): Buffer {
  const raw = path.join(dir, 'raw')
  const file = path.join(dir, 'made')
  const blocks = Array.from({ length: 32768 }, (_, i) => createHash('sha256').update(`${seed}${i}`).digest())
  writeFileSync(raw, Buffer.concat(blocks))
  execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, file])
  return readFileSync(file)
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function openStore(scripts?: string): LocalImages {
  const limits = { stallMs: STALL, attempts: 3 }
  const store = new LocalImages({
    dataDir: path.join(dir, 'data'),
    log: (line, level) => log.push(level === 'warn' ? `warn: ${line}` : line),
    clock,
    limits,
    ...(scripts && { scripts }),
  })
  stores.push(store)
  return store
}

function spec(...sources: ImageSource[]): ImageSpec {
  return { slug: 'test-os', sources }
}

function fromServer(): ImageSource {
  return { type: 'url', url: server.url(), sha256: sha256(server.body) }
}

/** Waits for an image, and cuts off or stalls each partial reply once its bytes have arrived. */
function waitCutting(store: LocalImages, image: ImageSpec, interrupt: () => void) {
  return store.wait(image, ({ progress }) => progress > 0.3 && progress < 0.5 && interrupt())
}

/** The names in the folder of images, except the work folder and the notes on sources. */
function shelved(): string[] {
  return readdirSync(path.join(dir, 'data/images')).filter((name) => name.length === 64)
}

test('concurrent callers share one download, and the next start finds the image at once', async () => {
  const store = openStore()
  const image = spec(fromServer())
  expect(await store.state(image)).toEqual({ state: 'absent' })
  const states = await Promise.all(Array.from({ length: 20 }, () => store.ensure(image)))
  expect(states.every(({ state }) => state === 'preparing')).toBe(true)
  const found = await store.wait(image)
  expect(server.ranges).toEqual([''])
  expect(found.id).toBe(sha256(server.body))
  expect(readFileSync(found.disk)).toEqual(server.body)
  expect(statSync(found.disk).mode & 0o777).toBe(0o444)
  expect(readdirSync(path.join(dir, 'data/images/tmp'))).toEqual([])
  await store.close()
  server.close()
  const later = openStore()
  expect(await later.ensure(image)).toMatchObject({ state: 'ready', virtualSizeGb: 1, source: found.source })
  expect(await later.ready(image)).toEqual(found)
  expect(await later.list()).toEqual([found])
})

test('a download resumes where its connection was cut off', async () => {
  server.answers = ['half', 503, 'normal']
  const found = await waitCutting(openStore(), spec(fromServer()), () => server.cut())
  expect(server.ranges[0]).toBe('')
  expect(server.ranges[1]).toMatch(/^bytes=[1-9]\d*-$/)
  expect(server.ranges[2]).toBe(server.ranges[1])
  expect(readFileSync(found.disk)).toEqual(server.body)
})

test('a stalled connection is abandoned, and another one resumes the download', async () => {
  server.answers = ['half']
  const found = await waitCutting(openStore(), spec(fromServer()), () => clock.fire())
  expect(server.ranges[1]).toMatch(/^bytes=[1-9]/)
  expect(readFileSync(found.disk)).toEqual(server.body)
})

test('a server that ignores ranges sends the file from the start', async () => {
  server.answers = ['half', 'no ranges']
  const found = await waitCutting(openStore(), spec(fromServer()), () => server.cut())
  expect(readFileSync(found.disk)).toEqual(server.body)
})

test('a file that changed between two attempts is downloaded from the beginning', async () => {
  const changed = diskImage('b')
  server.answers = ['half']
  const image = spec({ type: 'url', url: server.url(), sha256: sha256(changed) })
  const found = await waitCutting(openStore(), image, () => {
    server.body = changed
    server.cut()
  })
  expect(found.id).toBe(sha256(changed))
  expect(server.ranges).toHaveLength(2)
})

test('a download that mixes two versions of a file is detected and repeated', async () => {
  const changed = diskImage('b')
  server.answers = ['half', 'glue']
  const image = spec({ type: 'url', url: server.url(), sha256: sha256(changed) })
  const found = await waitCutting(openStore(), image, () => {
    server.body = changed
    server.cut()
  })
  expect(found.id).toBe(sha256(changed))
  expect(server.ranges).toHaveLength(3)
})

test('a wrong checksum is reported for a while, and then the image is tried again', async () => {
  const store = openStore()
  const image = spec({ type: 'url', url: server.url(), sha512: 'f'.repeat(128) })
  await expect(store.wait(image)).rejects.toThrow(/does not match its sha512/)
  expect(await store.ensure(image)).toMatchObject({
    state: 'failed',
    message: expect.stringContaining('The image test-os could not be prepared.'),
  })
  expect(server.ranges).toHaveLength(1)
  expect(shelved()).toEqual([])
  // The operator's commands are other processes.
  expect(await openStore().state(image)).toMatchObject({ state: 'failed' })
  clock.time += 31_000
  expect(await store.ensure(image)).toMatchObject({ state: 'preparing' })
})

test('sources are tried in order, and a failure reports the error of each', async () => {
  server.answers = [404]
  const file: ImageSource = { type: 'file', path: path.join(dir, 'made') }
  const found = await openStore().wait(spec(fromServer(), file))
  expect(found.source).toBe("the operator's file made")
  server.answers = [404]
  const failing = openStore().wait(
    spec(
      { type: 'url', url: server.url('other'), sha256: sha256(server.body) },
      { type: 'file', path: path.join(dir, 'none') },
    ),
  )
  const error = await failing.catch((reason: unknown) => String(reason))
  expect(error).toMatch(
    /Download from 127\.0\.0\.1:\d+: 127\.0\.0\.1:\d+ answered 404\. The operator's file none: The file does not exist/,
  )
  expect(error).not.toContain(dir)
  expect(log.at(-1)).toMatch(/^warn: image /)
  expect(log.join('\n')).toContain(path.join(dir, 'none'))
})

test('a server that keeps failing is given up after some attempts', async () => {
  server.answers = [503, 503, 503]
  await expect(openStore().wait(spec(fromServer()))).rejects.toThrow(
    /could not be downloaded after 3 attempts: the server answered 503/,
  )
})

test('an image is expected to be built here only if none of its servers answers', async () => {
  const build = { type: 'build', name: 'micro' } as const
  const url = { type: 'url', url: server.url() } as const
  const nowhere = { type: 'url', url: 'http://127.0.0.1:1/image.qcow2' } as const
  expect(await willBeBuilt(spec(build))).toBe(true)
  expect(await willBeBuilt(spec(nowhere, build))).toBe(true)
  expect(await willBeBuilt(spec(nowhere, url, build))).toBe(false)
  expect(await willBeBuilt(spec(nowhere))).toBe(false)
})

test('nothing is downloaded without a checksum', async () => {
  await expect(openStore().wait(spec({ type: 'url', url: server.url() }))).rejects.toThrow(/no checksum/)
  expect(server.ranges).toEqual([])
})

test('an unsigned list of checksums is used only if the template allows it, and must name the image', async () => {
  server.texts.set('/SHA256SUMS', `${'0'.repeat(64)} *other.img\n${sha256(server.body)} *disk.img\n`)
  const checksums_url = server.url('SHA256SUMS')
  const listed = { type: 'url', url: server.url(), checksums_url } as const
  await expect(openStore().wait(spec(listed))).rejects.toThrow('The checksum list is not signed.')
  expect(server.ranges).toEqual([])
  expect((await openStore().wait(spec({ ...listed, unsigned: true }))).id).toBe(sha256(server.body))
  const unlisted: ImageSource = { ...listed, url: server.url('new.img'), unsigned: true }
  await expect(openStore().wait(spec(unlisted))).rejects.toThrow(
    'The checksum list does not contain new.img.',
  )
})

test('lists of checksums are read in both forms', () => {
  const [a, b] = ['a'.repeat(64), 'B'.repeat(128)]
  expect(findChecksum(`${a}  ./x.img\r\n`, 'x.img')).toEqual({ algorithm: 'sha256', hex: a })
  expect(findChecksum(`# x.img: 5 bytes\nSHA256 (x.img) = ${a}\nSHA512 (x.img) = ${b}\n`, 'x.img')).toEqual({
    algorithm: 'sha512',
    hex: b.toLowerCase(),
  })
  expect(
    findChecksum(
      `${a}  not-x.img\nMD5 (x.img) = ${'a'.repeat(32)}\nSHA256 (x.img) = ${'a'.repeat(63)}\n`,
      'x.img',
    ),
  ).toBeNull()
})

test('a store closed midway leaves its partial download to the next', async () => {
  server.answers = ['half']
  const first = openStore()
  const image = spec(fromServer())
  await expect(waitCutting(first, image, () => void first.close())).rejects.toThrow(/closed/)
  await first.close()
  expect(shelved()).toEqual([])
  expect((await openStore().wait(image)).id).toBe(sha256(server.body))
  expect(server.ranges[1]).toMatch(/^bytes=[1-9]/)
})

test('a process killed midway leaves its partial download to the next, and no incomplete image', async () => {
  server.answers = ['half']
  const code = `import { LocalImages } from ${JSON.stringify(path.join(import.meta.dirname, 'store.ts'))}
    new LocalImages({ dataDir: ${JSON.stringify(path.join(dir, 'data'))} })
      .wait(${JSON.stringify(spec(fromServer()))}, (s) => s.progress > 0.3 && console.log('half'))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  const junk = path.join(dir, 'data/images/tmp/0123.00000000-1-1-aa/out')
  mkdirSync(junk, { recursive: true })
  expect(shelved()).toEqual([])
  expect((await openStore().wait(spec(fromServer()))).id).toBe(sha256(server.body))
  expect(server.ranges[1]).toMatch(/^bytes=[1-9]/)
  expect(readdirSync(path.join(dir, 'data/images/tmp'))).toEqual([])
})

test('two stores in one folder produce one image', async () => {
  const image = spec(fromServer())
  const [one, two] = await Promise.all([openStore().wait(image), openStore().wait(image)])
  expect(one).toEqual(two)
  expect(shelved()).toHaveLength(1)
  expect(readdirSync(path.join(dir, 'data/images/tmp'))).toEqual([])
})

test('an image truncated on disk is detected and prepared again', async () => {
  const store = openStore()
  const image = spec(fromServer())
  const { disk } = await store.wait(image)
  chmodSync(disk, 0o644)
  truncateSync(disk, 1000)
  expect(await store.ready(image)).toBeNull()
  expect(readFileSync((await store.wait(image)).disk)).toEqual(server.body)
})

test("an operator's raw file is converted, and converted again when the file changes", async () => {
  const store = openStore()
  const sector = Buffer.alloc(512 * 1024)
  sector.writeUInt16BE(0x55aa, 510)
  writeFileSync(path.join(dir, 'own.img'), sector)
  const image = spec({ type: 'file', path: path.join(dir, 'own.img'), sha256: sha256(sector) })
  const found = await store.wait(image)
  expect(execFileSync('qemu-img', ['info', found.disk], { encoding: 'utf8' })).toContain('file format: qcow2')
  writeFileSync(path.join(dir, 'own.img'), Buffer.concat([sector, sector]))
  expect(await store.ready(image)).toBeNull()
  await expect(store.wait(image)).rejects.toThrow('The file does not match the sha256 in the catalogue.')
  rmSync(path.join(dir, 'own.img'))
  expect(await store.ready(image)).toEqual(found)
})

test("an operator's ISO is kept unchanged and apart from disks, and a file that is not an ISO is refused", async () => {
  server.body = bootableIso('An installer')
  const iso = { ...spec(fromServer()), isIso: true }
  const made = await openStore().wait(iso)
  expect(made).toMatchObject({ id: sha256(server.body), bytes: server.body.length, direct: null })
  expect(readFileSync(made.disk).equals(server.body)).toBe(true)
  const later = openStore()
  expect(await later.ready(iso)).toEqual(made)
  expect(await later.ready(spec(fromServer()))).toBeNull()
  expect(await later.list()).toEqual([])
  server.body = diskImage('b')
  const wrong = later.wait({ ...spec(fromServer()), isIso: true })
  await expect(wrong).rejects.toThrow(/not an ISO image/)
})

test('an image that would take space reserved for guests is refused before its download', async () => {
  const file = path.join(dir, 'own.img')
  writeFileSync(file, server.body)
  const sources: ImageSource[] = [fromServer(), { type: 'file', path: file }]
  const limits = { stallMs: STALL, attempts: 3, reserveBytes: Number.MAX_SAFE_INTEGER }
  for (const source of sources) {
    const store = new LocalImages({ dataDir: path.join(dir, 'full'), clock, limits })
    stores.push(store)
    await expect(store.wait(spec(source))).rejects.toThrow(/not enough free disk space/)
    expect(await store.ready(spec(source))).toBeNull()
  }
  expect(server.ranges).toEqual([])
})

test('a bad image is refused and not kept', async () => {
  execFileSync('qemu-img', [
    'create',
    '-q',
    '-f',
    'qcow2',
    '-F',
    'raw',
    '-b',
    '/etc/passwd',
    path.join(dir, 'bad'),
    '1M',
  ])
  await expect(openStore().wait(spec({ type: 'file', path: path.join(dir, 'bad') }))).rejects.toThrow(
    /backing file/,
  )
  expect(shelved()).toEqual([])
})

function buildScript(text: string): string {
  const scripts = path.join(dir, 'scripts')
  mkdirSync(path.join(scripts, 'micro'), { recursive: true })
  writeFileSync(path.join(scripts, 'micro/build.sh'), text)
  for (const name of ['packages.sh', 'disk.sh']) writeFileSync(path.join(scripts, name), '')
  return scripts
}

test('a failed build reports its own error message, and an unknown build is refused', async () => {
  const scripts = buildScript('echo progress 0.5 halfway; echo "error There is no mirror."; exit 1')
  const seen: string[] = []
  const waiting = openStore(scripts).wait(spec({ type: 'build', name: 'micro' }), ({ detail }) =>
    seen.push(detail),
  )
  await expect(waiting).rejects.toThrow('Build of micro: There is no mirror.')
  expect(seen).toContain('halfway')
  await expect(openStore().wait(spec({ type: 'build', name: '../micro' }))).rejects.toThrow(
    'No such build: "../micro"',
  )
})

test('closing the store ends a build with all its processes', async () => {
  const pidFile = path.join(dir, 'pid')
  const scripts = buildScript(`sleep 1000 & echo $! > ${pidFile}; echo progress 0.5 sleeping; wait`)
  const store = openStore(scripts)
  const waiting = store.wait(
    spec({ type: 'build', name: 'micro' }),
    ({ detail }) => detail === 'sleeping' && void store.close(),
  )
  await expect(waiting).rejects.toThrow(/closed/)
  // Killed with its group; a zombie until its new parent reaps it.
  const pid = readFileSync(pidFile, 'utf8').trim()
  const isGone = () => {
    try {
      return /^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    } catch {
      return true
    }
  }
  await expect.poll(isGone).toBe(true)
})
