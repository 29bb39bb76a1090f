import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../test/harness/clock.ts'
import { CatalogError } from './file.ts'
import { openCatalog, watchCatalog } from './live.ts'

const shipped = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
const now = Date.parse('2026-11-20')

function place() {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-catalog-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return { file: path.join(folder, 'catalog.yaml'), lastGood: path.join(folder, 'last-good.yaml') }
}

test('a bad catalogue does not keep a service down that a good one has run', () => {
  const { file, lastGood } = place()
  writeFileSync(file, 'zones: [')
  expect(() => openCatalog(file, lastGood, now)).toThrow(CatalogError)
  writeFileSync(file, shipped)
  expect(openCatalog(file, lastGood, now).fault).toBeNull()
  writeFileSync(file, shipped.replace('cpu_types: [amd, intel]', 'cpu_types: [arm]'))
  const { catalog, fault } = openCatalog(file, lastGood, now)
  expect(fault).toMatch(/catalog\.yaml:\d+: .*must be one of amd, intel/)
  expect(catalog.zones[0]?.cpu_types).toEqual(['amd', 'intel'])
})

test('a change is taken up while the service runs, and a bad one is told and changes nothing', async () => {
  const { file, lastGood } = place()
  writeFileSync(file, shipped)
  const clock = new ManualClock(now)
  const opened = openCatalog(file, lastGood, now)
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
