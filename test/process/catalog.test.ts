import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { folder, order, run, serve } from './harness/berthd.ts'
import { listening } from './harness/child.ts'

const TIMEOUT_MS = 900_000
const sample = fileURLToPath(new URL('../../catalog.yaml', import.meta.url))
const shipped = readFileSync(sample, 'utf8')

test(
  'a first start makes a catalogue of the installation, which no later one replaces',
  async () => {
    const data = folder()
    const own = path.join(data, 'catalog.yaml')
    const first = await serve(data)
    expect((await listening(first)).catalog).toBe(own)
    expect(readFileSync(own, 'utf8')).toBe(shipped)
    first.process.kill('SIGTERM')
    await first.ended
    writeFileSync(own, shipped.replace('title: This machine', 'title: Elsewhere'))
    const second = await serve(data)
    expect((await second.call('GET', '/zones')).body[0].title).toBe('Elsewhere')
  },
  TIMEOUT_MS,
)

test(
  'an installation that was served from the sample takes the catalogue over that was in force',
  async () => {
    const data = folder()
    const own = path.join(data, 'catalog.yaml')
    // As the version before left it: paths started from the folder of the sample.
    writeFileSync(
      path.join(data, 'catalog.last-good.yaml'),
      shipped
        .replace('title: This machine', 'title: Edited')
        .replace('- build: micro', '- file: package.json # not really'),
    )
    const service = await serve(data)
    expect((await service.call('GET', '/zones')).body[0].title).toBe('Edited')
    expect(service.stdout).toContain(`The catalogue is ${own} from now on: edit it there.`)
    const image = path.join(path.dirname(sample), 'package.json')
    expect(readFileSync(own, 'utf8')).toContain(`- file: "${image}" # not really`)
  },
  TIMEOUT_MS,
)

test(
  'a catalogue that lost what servers use, or an image file, is refused before and at the start, by name',
  async () => {
    const data = folder()
    const own = path.join(data, 'catalog.yaml')
    const first = await serve(data)
    expect((await first.call('POST', '/servers', await order(first))).status).toBe(202)
    first.process.kill('SIGTERM')
    await first.ended
    const env = { BERTH_DATA: data }
    expect(await run(['catalog', 'check'], env)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^It is the catalogue in force\.\n.* is valid: 1 zone, /),
      stderr: '',
    })
    const [entry = ''] = /^ {2}- \{\n(?: {6}.*\n)+ {4}\}\n/m.exec(shipped) ?? []
    const tenfold = entry
      .replace('"180.00"', '"2000.00"')
      .replace('2026-01-01', '2090-01-01, existing_from: 2090-01-01')
    writeFileSync(own, shipped.replace(entry, entry + tenfold))
    expect(await run(['catalog', 'check'], env)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('from 2090-01-01 also for 1 existing server of 1 account\n'),
      stderr: expect.stringContaining('add "large_change: true" to the entry.'),
    })
    writeFileSync(
      own,
      shipped.replace('- slug: micro', '- slug: mini').replace('- build: micro', '- file: none.img'),
    )
    const faults = [
      `template mini: no such image file, or no access: ${path.join(data, 'none.img')}.`,
      'template micro is missing, but it is in use',
    ]
    for (const command of [
      ['catalog', 'check'],
      ['image', 'list'],
    ]) {
      const { code, stderr } = await run(command, env)
      expect(code).toBe(1)
      for (const fault of faults) expect(stderr).toContain(fault)
    }
    const second = await serve(data)
    const { warnings } = await listening(second)
    for (const fault of faults) expect(JSON.stringify(warnings)).toContain(fault)
    // An operator who greps for errors finds it, at the start and when the file changes.
    const errors = () => second.stdout.split('\n').filter((line) => line.startsWith('{"level":50'))
    expect(errors()).toEqual([expect.stringContaining('template micro is missing')])
    writeFileSync(own, 'zones: [')
    await expect.poll(errors).toEqual([expect.any(String), expect.stringContaining('the file is invalid')])
    expect((await second.call('GET', '/templates')).body[0].slug).toBe('micro')
    // Another catalogue is held against the last good one, too.
    const other = path.join(folder(), 'other.yaml')
    writeFileSync(other, shipped.replaceAll('local-1', 'msk-1'))
    const check = await run(['catalog', 'check'], { ...env, BERTH_CATALOG: other })
    expect(check).toMatchObject({ code: 1, stderr: expect.stringContaining('zone local-1 is missing') })
  },
  TIMEOUT_MS,
)

test(
  'a catalogue that is named elsewhere is used as it is, and one that is missing there is not made',
  async () => {
    const [data, etc] = [folder(), folder()]
    const file = path.join(etc, 'catalog.yaml')
    const env = { BERTH_DATA: data, BERTH_CATALOG: file }
    expect(await run(['catalog', 'check'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/can't be read/),
    })
    mkdirSync(path.join(etc, 'images'))
    writeFileSync(path.join(etc, 'images/own.img'), Buffer.alloc(1 << 20))
    writeFileSync(file, shipped.replace('- build: micro', '- file: images/own.img'))
    expect(await run(['catalog', 'check'], env)).toMatchObject({ code: 0, stderr: '' })
    expect(existsSync(path.join(data, 'catalog.yaml'))).toBe(false)
    rmSync(path.join(etc, 'images/own.img'))
    const refused = await run(['serve'], { ...env, BERTH_COMPUTE: 'simulator', PORT: '0' })
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(path.join(etc, 'images/own.img')),
    })
  },
  TIMEOUT_MS,
)

test(
  'an operator’s token reads the catalogue in force, also after a restart beside a refused file',
  async () => {
    const data = folder()
    const own = path.join(data, 'catalog.yaml')
    const first = await serve(data)
    const bounds = ['--scope', 'operator:read', '--cidr', '127.0.0.1']
    const made = await run(['operator', 'token', 'create', 'shop', ...bounds], { BERTH_DATA: data })
    const headers = { authorization: `Bearer ${made.stdout.trim()}` }
    const read = async ({ send }: typeof first) => {
      const reply = await send('GET', '/operator/catalog', undefined, headers)
      // The assertions below fail if it is anything else.
      return (await reply.json()) as { text: string }
    }
    const before = await read(first)
    expect(before).toMatchObject({ text: expect.stringContaining('title: This machine'), errors: [] })
    first.process.kill('SIGTERM')
    await first.ended
    writeFileSync(own, 'zones: [')
    const second = await serve(data)
    expect(await read(second)).toEqual({ ...before, errors: [expect.stringContaining('catalog.yaml: ')] })
    const next = { text: before.text.replace('title: This machine', 'title: Elsewhere') }
    const checked = await second.send('POST', '/operator/catalog/check', next, headers)
    expect(await checked.json()).toMatchObject({ is_valid: true, differences: ['zone local-1: changed'] })
    expect(readFileSync(own, 'utf8')).toBe('zones: [')
  },
  TIMEOUT_MS,
)

/** Kills the process in the moment before a finished draft becomes the catalogue. */
const KILLED_AT_RENAME = `data:text/javascript,${encodeURIComponent(`
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
const { rename } = fs
fs.rename = async (from, to) => {
  if (to.endsWith('/catalog.yaml')) process.kill(process.pid, 'SIGKILL')
  return rename(from, to)
}
syncBuiltinESMExports()
`)}`

test(
  'an operator’s change of the catalogue outlives a restart, and a crash while it is written leaves the one before',
  async () => {
    const data = folder()
    const own = path.join(data, 'catalog.yaml')
    const first = await serve(data)
    const bounds = ['--scope', 'operator:read', '--scope', 'operator:money', '--cidr', '127.0.0.1']
    const made = await run(['operator', 'token', 'create', 'shop', ...bounds], { BERTH_DATA: data })
    const headers = { authorization: `Bearer ${made.stdout.trim()}` }
    const retitle = async ({ send }: typeof first, from: string, to: string) => {
      const reply = await send('GET', '/operator/catalog', undefined, headers)
      // The change below fails if it is anything else.
      const { text, hash } = (await reply.json()) as { text: string; hash: string }
      const body = { text: text.replace(`title: ${from}`, `title: ${to}`), hash }
      return send('PUT', '/operator/catalog', body, headers)
    }
    expect(await (await retitle(first, 'This machine', 'Elsewhere')).json()).toMatchObject({
      differences: ['zone local-1: changed'],
    })
    expect(readFileSync(own, 'utf8')).toContain('title: Elsewhere')
    expect(readFileSync(path.join(data, 'catalog.previous.yaml'), 'utf8')).toBe(shipped)
    first.process.kill('SIGTERM')
    await first.ended
    const second = await serve(data, { NODE_OPTIONS: `--import=${KILLED_AT_RENAME}` })
    expect((await second.call('GET', '/zones')).body[0].title).toBe('Elsewhere')
    await expect(retitle(second, 'Elsewhere', 'Nowhere')).rejects.toThrow()
    expect((await second.ended).signal).toBe('SIGKILL')
    const third = await serve(data)
    expect((await third.call('GET', '/zones')).body[0].title).toBe('Elsewhere')
    expect(await run(['catalog', 'check'], { BERTH_DATA: data })).toMatchObject({ code: 0, stderr: '' })
    expect((await retitle(third, 'Elsewhere', 'Nowhere')).status).toBe(200)
    expect((await third.call('GET', '/zones')).body[0].title).toBe('Nowhere')
  },
  TIMEOUT_MS,
)
