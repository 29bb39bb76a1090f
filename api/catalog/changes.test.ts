import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { differences, largeChanges } from './changes.ts'
import { parseCatalog } from './file.ts'

const shipped = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
const parse = (text: string) => parseCatalog(text, 'catalog.yaml')
const before = parse(shipped)
const amd = /^ {2}- \{\n(?: {6}.*\n)+ {4}\}\n/m.exec(shipped)?.[0] ?? ''
const used = [{ zone_slug: 'local-1', cpu_type: 'amd' }] as const

/** The shipped catalogue with further prices, each from a day, with the price of a core and more fields. */
function priced(...entries: [day: string, cpu: string, more?: string][]) {
  const added = entries.map(([day, cpu, more = '']) =>
    amd.replace('2026-01-01', day).replace('"180.00"', `"${cpu}"`).replace('"6.00",', `"6.00",${more}`),
  )
  return parse(shipped.replace(amd, [amd, ...added].join('')))
}

test('a price that more than doubles or halves is refused, unless its entry says that it is meant', () => {
  const tenfold = priced(['2026-12-01', '2000.00', ' existing_from: 2026-12-01,'])
  expect(largeChanges(before, tenfold, used)).toEqual([
    expect.stringMatching(
      /^the price of local-1 amd from 2026-12-01 changes more than twofold: cpu 180\.00 to 2000\.00, nano 300\.00 to 2120\.00, .* add "large_change: true" to the entry\.$/,
    ),
  ])
  expect(largeChanges(before, priced(['2026-12-01', '80.00']), used)).toHaveLength(1)
  expect(largeChanges(before, priced(['2026-12-01', '360.00']), used)).toEqual([])
  expect(largeChanges(before, priced(['2026-12-01', '2000.00', ' large_change: true,']), used)).toEqual([])
})

test('a large change that is in force already needs no word in a later file', () => {
  const once = priced(['2026-10-01', '2000.00', ' large_change: true,'])
  expect(largeChanges(once, priced(['2026-10-01', '2000.00']), used)).toEqual([])
  // An entry that is edited is compared with what was in force in its place.
  expect(largeChanges(once, priced(['2026-10-01', '20.00']), used)).toHaveLength(1)
})

test('existing servers do not jump from a price that they kept over several entries', () => {
  const steps = [
    ['2026-03-01', '300.00'],
    ['2026-06-01', '500.00'],
  ] as [string, string][]
  const stepped = priced(...steps)
  expect(largeChanges(stepped, priced(...steps, ['2026-12-01', '600.00']), used)).toEqual([])
  const moved = priced(...steps, ['2026-12-01', '600.00', ' existing_from: 2026-12-01,'])
  expect(largeChanges(stepped, moved, used)[0]).toContain('cpu 180.00 to 600.00')
})

test('what was free for existing servers does not cost something without a word', () => {
  const more = ' ipv4_month_rub: "150.00",'
  expect(largeChanges(before, priced(['2026-12-01', '180.00', more]), used)).toEqual([])
  const existing = priced(['2026-12-01', '180.00', `${more} existing_from: 2026-12-01,`])
  expect(largeChanges(before, existing, used)[0]).toContain('ipv4 0.00 to 150.00')
})

test('prices that no server pays can be set to anything', () => {
  const own = parse(shipped.replace('"180.00"', '"900.00"'))
  expect(largeChanges(before, own, [])).toEqual([])
  expect(largeChanges(before, own, used)).toHaveLength(1)
})

test('an operator sees each difference to the catalogue in force, and how many servers it meets', () => {
  const payers = [{ zone_slug: 'local-1', cpu_type: 'amd', servers: 14, accounts: 2 } as const]
  const after = priced(['2026-12-01', '200.00'], ['2027-01-01', '210.00', ' existing_from: 2027-02-01,'])
  const renamed = {
    ...after,
    presets: after.presets.slice(1),
    zones: before.zones.map((zone) => ({ ...zone, title: 'x' })),
  }
  expect(differences(before, before, payers)).toEqual([])
  expect(differences(before, renamed, payers)).toEqual([
    'zone local-1: changed',
    'preset nano: removed',
    expect.stringMatching(
      /^price of local-1 amd from 2026-12-01: cpu 180\.00 to 200\.00, micro 420\.00 to 440\.00, .*; for new orders only, 14 existing servers of 2 accounts keep theirs$/,
    ),
    expect.stringMatching(
      /2027-01-01: cpu 180\.00 to 210\.00, .*; from 2027-02-01 also for 14 existing servers of 2 accounts$/,
    ),
  ])
})

test('ISOs of the operator that come, change and go are among the differences', () => {
  const offering = (sha: string) =>
    parse(`${shipped}\nisos: [{ slug: alpine, title: Alpine, file: a.iso, sha256: ${sha.repeat(64)} }]\n`)
  expect(differences(before, offering('a'), [])).toEqual(['ISO alpine: added'])
  expect(differences(offering('a'), offering('b'), [])).toEqual(['ISO alpine: changed'])
  expect(differences(offering('a'), before, [])).toEqual(['ISO alpine: removed'])
})

test('a rate of the second currency that changes more than twofold is refused, unless that is meant', () => {
  const at = (rubles: string, more = '') =>
    parse(`operator:\n  second_currency: { code: EUR, rubles: "${rubles}"${more} }\n${shipped}`)
  expect(largeChanges(at('98.50'), at('9.85'), used)).toEqual([
    'the price of EUR changes more than twofold: from 98.50 to 9.85. If that is meant, add "large_change: true" to second_currency.',
  ])
  expect(largeChanges(at('98.50'), at('197.01'), used)).toHaveLength(1)
  expect(largeChanges(at('98.50'), at('197.00'), used)).toEqual([])
  expect(largeChanges(at('98.50'), at('9.85', ', large_change: true'), used)).toEqual([])
  expect(largeChanges(before, at('9.85'), used)).toEqual([])
})
