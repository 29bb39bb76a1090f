import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../test/harness/clock.ts'
import type { StoredImage } from '../drivers/qemu/images/images.ts'
import { LocalImages } from '../drivers/qemu/images/store.ts'
import type { Ordered } from './append-only.ts'
import { CatalogError, parseCatalog } from './file.ts'
import { openCatalog, watchCatalog } from './live.ts'

const shipped = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
const now = Date.parse('2026-11-20')

function place(ordered: () => Ordered[] = () => []) {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-catalog-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'catalog.yaml')
  const images = new LocalImages({ dataDir: folder })
  return {
    file,
    lastGood: path.join(folder, 'last-good.yaml'),
    images,
    ordered: async () => ordered(),
    held: async () => [],
  }
}

test('a bad catalogue does not stop a service that has run with a good one', async () => {
  const at = place()
  writeFileSync(at.file, 'zones: [')
  await expect(openCatalog(at, now)).rejects.toThrow(CatalogError)
  writeFileSync(at.file, shipped)
  expect((await openCatalog(at, now)).fault).toBeNull()
  writeFileSync(at.file, shipped.replace('cpu_types: [amd, intel]', 'cpu_types: [arm]'))
  const { catalog, fault } = await openCatalog(at, now)
  expect(fault).toMatch(/catalog\.yaml:\d+: .*must be one of amd, intel/)
  expect(catalog.zones[0]?.cpu_types).toEqual(['amd', 'intel'])
})

test('entries that servers use can’t disappear from the catalogue, even while the service is down', async () => {
  const { templates, presets } = parseCatalog(shipped, 'catalog.yaml')
  const debian = templates.find(({ slug }) => slug === 'debian-13')
  const server = {
    zone_slug: 'local-1',
    cpu_type: 'amd' as const,
    template_id: debian?.templateId ?? '',
    preset_id: presets[0]?.presetId ?? null,
  }
  const servers = [server]
  const at = place(() => servers)
  writeFileSync(at.file, shipped)
  await openCatalog(at, now)
  const without = shipped.replace(/ {2}- slug: debian-13\n(?: {4}.*\n)+/, '')
  writeFileSync(at.file, without)
  const again = await openCatalog(at, now)
  expect(again.fault).toBe(
    `${at.file}: template debian-13 is missing, but it is in use: put it back, with "retired: true" to stop selling it.`,
  )
  expect(again.catalog.templates).toHaveLength(templates.length)
  expect(await again.look(now)).toBeNull()
  // Once its last server is gone, the same file is good.
  servers.length = 0
  expect(await again.look(now)).toEqual({ fault: null })
  expect(again.catalog.templates).toHaveLength(templates.length - 1)
})

test('a missing image is a fault that names template and file, until it is there or no longer needed', async () => {
  const at = place()
  const folder = path.dirname(at.file)
  const own = shipped.replace('- build: micro', '- file: own/disk.img # mine')
  writeFileSync(at.file, shipped)
  const opened = await openCatalog(at, now)
  writeFileSync(at.file, own)
  const disk = path.join(folder, 'own/disk.img')
  const fault = `${at.file}: template micro: no such image file, or no access: ${disk}.`
  expect(await opened.look(now)).toEqual({ fault })
  expect(await opened.look(now)).toBeNull()
  mkdirSync(path.dirname(disk))
  writeFileSync(disk, Buffer.alloc(1 << 20))
  expect(await opened.look(now)).toEqual({ fault: null })
  const image = opened.catalog.templates.find(({ slug }) => slug === 'micro')?.image
  expect(image?.sources).toEqual([{ type: 'file', path: disk }])
  // The kept copy means the same wherever it is read.
  expect(readFileSync(at.lastGood, 'utf8')).toBe(own.replace('own/disk.img', JSON.stringify(disk)))
  rmSync(disk)
  expect((await openCatalog(at, now)).fault).toBe(fault)
  const images = { ready: async () => ({}) as StoredImage } // the image is here: nothing is asked of it
  expect((await openCatalog({ ...at, images }, now)).fault).toBeNull()
})

test('a change takes effect while the service runs, and a bad one is reported and changes nothing', async () => {
  const at = place()
  const { file, lastGood } = at
  writeFileSync(file, shipped)
  const clock = new ManualClock(now)
  const opened = await openCatalog(at, now)
  const told: (string | null)[] = []
  const log = pino({ level: 'silent' })
  const watch = watchCatalog(opened, { clock, log }, (fault) => told.push(fault))
  const turn = async (text: string | null) => {
    if (text === null) rmSync(file)
    else writeFileSync(file, text)
    clock.advance(2_000)
    await setImmediate()
    return opened.catalog.zones[0]?.title
  }
  expect(await turn(shipped)).toBe('This machine')
  expect(told).toEqual([])
  expect(await turn(shipped.replace('title: This machine', 'title: Elsewhere'))).toBe('Elsewhere')
  expect(await turn(shipped.replace('title: This machine', 'title: [Nowhere]'))).toBe('Elsewhere')
  expect(await turn(shipped.replace('title: This machine', 'title: *nowhere'))).toBe('Elsewhere')
  expect(await turn(null)).toBe('Elsewhere')
  expect(told).toEqual([
    null,
    expect.stringMatching(/title must be a string/),
    expect.stringMatching(/nowhere/),
    expect.stringMatching(/can't be read/),
  ])
  expect(readFileSync(lastGood, 'utf8')).toContain('Elsewhere')
  expect(await turn(shipped)).toBe('This machine')
  await watch.stop()
})
