import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { breaches, type Ordered } from './append-only.ts'
import { parseCatalog } from './file.ts'

const shipped = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
const now = Date.parse('2026-11-20T12:00:00Z')
const parse = (text: string) => parseCatalog(text, 'catalog.yaml')
const nano = parse(shipped).presets.find(({ slug }) => slug === 'nano')?.presetId ?? ''
const micro = parse(shipped).templates.find(({ slug }) => slug === 'micro')?.templateId ?? ''
const server: Ordered = { zone_slug: 'local-1', cpu_type: 'amd', template_id: micro, preset_id: nano }

function after(from: string | RegExp, to: string, { text = shipped, ordered = [server] } = {}) {
  const changed = text.replace(from, to)
  expect(changed).not.toBe(text)
  return breaches(parse(text), parse(changed), ordered, [], now)
}

test('entries that no server uses can change and disappear', () => {
  expect(after(/local-1/g, 'msk-1', { ordered: [] })).toEqual([])
  expect(after('cpu_month_rub: "180.00"', 'cpu_month_rub: "200.00"', { ordered: [] })).toEqual([])
  expect(after('cpu_month_rub: "190.00"', 'cpu_month_rub: "200.00"')).toEqual([])
  expect(after('slug: micro, cpu: 1', 'slug: micro, cpu: 2')).toEqual([])
})

test('a zone in which accounts have volumes stays', () => {
  const elsewhere = parse(shipped.replace(/local-1/g, 'msk-1'))
  const held = [{ zone_slug: 'local-1', address: null }]
  expect(breaches(parse(shipped), elsewhere, [], held, now)).toEqual([
    expect.stringMatching(/^zone local-1 is missing/),
  ])
})

test('a template of which only a copy of a disk is left stays, with its login', () => {
  const held = [{ zone_slug: 'local-1', address: null, template_id: micro }]
  const changed = parse(shipped.replace('default_username: berth', 'default_username: root'))
  expect(breaches(parse(shipped), changed, [], held, now)).toEqual([
    expect.stringMatching(/^default_username of template micro/),
  ])
  expect(breaches(parse(shipped), changed, [], [], now)).toEqual([])
})

test('entries that servers use stay as they are, and can be retired', () => {
  expect(after(/local-1/g, 'msk-1')[0]).toMatch(/^zone local-1 is missing, but it is in use: put it back/)
  expect(after('- { slug: nano,', '- { slug: tiny,')[0]).toMatch(/^preset nano is missing/)
  expect(after('slug: nano, cpu: 1', 'slug: nano, cpu: 2')).toEqual([
    "the size of preset nano can't change while servers use it: add another preset instead.",
  ])
  expect(after('default_username: berth', 'default_username: root')[0]).toMatch(
    /^default_username of template micro/,
  )
  expect(after('disk_gb: 10 }', 'disk_gb: 10, retired: true }')).toEqual([])
  expect(after('title: Micro Linux', 'title: Micro Linux 2\n    retired: true')).toEqual([])
})

test('a price is final once it was in force for a day, and a mistake of the same day can be corrected', () => {
  const changed = /^the price of local-1 amd from 2026-01-01 is in force, and can't be changed or removed/
  expect(after('cpu_month_rub: "180.00"', 'cpu_month_rub: "200.00"')).toEqual([
    expect.stringMatching(changed),
  ])
  expect(after('active_from: 2026-01-01', 'active_from: 2025-12-01')).toEqual([
    expect.stringMatching(changed),
  ])
  const entry = /^ {2}- \{\n(?: {6}.*\n)+ {4}\}\n/m.exec(shipped)?.[0] ?? ''
  const with_ = (day: string, more = '') =>
    shipped.replace(
      entry,
      entry +
        entry
          .replace('2026-01-01', day)
          .replace('disk_gb_month_rub: "6.00",', `disk_gb_month_rub: "6.00",${more}`),
    )
  expect(breaches(parse(shipped), parse(with_('2026-11-20')), [server], [], now)).toEqual([])
  for (const [day, isHistory] of [
    ['2026-11-19', true],
    ['2026-11-20', false],
    ['2026-12-01', false],
  ] as const)
    expect([day, breaches(parse(with_(day)), parse(shipped), [server], [], now).length > 0]).toEqual([
      day,
      isHistory,
    ])
  const existing = (day: string) => with_('2026-11-01', ` existing_from: ${day},`)
  const moves = (before: string, to: string) => breaches(parse(before), parse(to), [server], [], now).length
  expect(moves(with_('2026-11-01'), existing('2026-12-01'))).toBe(0)
  expect(moves(existing('2026-12-01'), existing('2026-12-15'))).toBe(0)
  expect(moves(existing('2026-11-10'), existing('2026-12-01'))).toBe(1)
})

test('an ISO of the operator that is in a drive stays', () => {
  const offering = parse(`${shipped}\nisos: [{ slug: alpine, title: Alpine, file: /srv/alpine.iso }]\n`)
  const held = [{ zone_slug: 'local-1', address: null, iso_id: offering.isos[0]?.isoId ?? '' }]
  expect(breaches(offering, parse(shipped), [], held, now)).toEqual([
    expect.stringMatching(/^ISO alpine is missing, but it is in use: put it back, with "retired: true"/),
  ])
  expect(breaches(offering, parse(shipped), [], [], now)).toEqual([])
})
