import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CatalogError, hostOf, isFor, parseCatalog } from './file.ts'
import { resolvePlan } from './plans.ts'
import { pricesAt } from './prices.ts'

const text = `
zones:
  - zone_slug: local-1
    title: This machine
    city: Local
    country_code: ZZ
    cpu_types: [amd, intel]
    overcommit: { cpu: 8, ram: 1, disk: 1 }
limits:
  cpu: { min: 1, max: 32, step: 1 }
  ram_mb: { min: 256, max: 131072, step: 256 }
  disk_gb: { min: 5, max: 2000, step: 5 }
prices:
  - { active_from: 2026-01-01, zone_slug: local-1, cpu_type: amd, cpu_month_rub: "180.00", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00" }
  - { active_from: 2026-01-01, zone_slug: local-1, cpu_type: intel, cpu_month_rub: "190.00", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00" }
presets:
  - { slug: nano, cpu: 1, ram_mb: 512, disk_gb: 10 }
  - { slug: micro, cpu: 1, ram_mb: 1024, disk_gb: 20 }
templates:
  - slug: micro
    title: Micro Linux
    os_family: linux
    min_disk_gb: 1
    default_username: berth
    image:
      - build: micro
`

/** Returns the complaint about a catalogue that differs from the sample in one place. */
function complaint(from: string | RegExp, to: string): string {
  const changed = text.replace(from, to)
  expect(changed).not.toBe(text)
  try {
    parseCatalog(changed, 'catalog.yaml')
  } catch (error) {
    if (error instanceof CatalogError) return error.message
    throw error
  }
  return 'nothing'
}

const lineOf = (part: string) => text.slice(0, text.indexOf(part)).split('\n').length

test('the catalogue that we ship is fine', () => {
  const shipped = readFileSync(new URL('../../catalog.yaml', import.meta.url), 'utf8')
  expect(parseCatalog(shipped, 'catalog.yaml').zones.length).toBeGreaterThan(0)
})

test('a mistake in a catalogue is reported with its line', () => {
  expect(complaint('country_code: ZZ', 'country_code: zz')).toContain(
    `catalog.yaml:${lineOf('country_code')}: `,
  )
  expect(complaint('zone_slug: local-1\n', 'zone_slug: Local 1\n')).toContain('lower-case letters')
  expect(complaint('title: This machine', 'titel: This machine')).toMatch(
    /titel is not a known field\. Did you mean title\?/,
  )
  expect(complaint('cpu_month_rub: "180.00"', 'cpu_month_rub: 180.00')).toContain('must be a string')
  expect(complaint('cpu_month_rub: "180.00"', 'cpu_month_rub: "1,80"')).toContain(
    'must be an amount such as "180.00", in quotes',
  )
  expect(complaint('slug: nano', 'slug: micro')).toContain('presets has "micro" twice')
  expect(complaint(/^ {2}- \{ active_from: .*cpu_type: intel.*\n/m, '')).toContain(
    'offers intel, but prices has no entry',
  )
  expect(complaint('- build: micro', '- { build: micro, file: x }')).toContain('one of url, file or build')
  expect(complaint('- build: micro', '- url: https://example.com/x')).toContain('a url requires sha256')
  const image = (more: string) => complaint('- build: micro', `- { url: https://example.com/x, ${more} }`)
  expect(image('checksums_url: http://example.com/SUMS')).toContain('checksums_url')
  expect(image('checksums_url: https://example.com/SUMS, key_url: https://example.com/key')).toContain(
    'key_url and fingerprint require each other',
  )
  expect(complaint('- build: micro', `- { url: http://example.com/x, sha256: ${'a'.repeat(64)} }`)).toContain(
    'url',
  )
  expect(complaint('zones:', 'zones: [')).toContain('catalog.yaml')
  expect(() => parseCatalog('', 'catalog.yaml')).toThrow(CatalogError)
  expect(() => parseCatalog('5', 'catalog.yaml')).toThrow(CatalogError)
  for (const range of ['fe80::%eth0/64', '2001:db8::1/64', '2001:db8::/31'])
    expect(complaint('    overcommit', `    public_ipv6: "${range}"\n    overcommit`)).toContain(range)
})

test('a new price holds from its day on, and the old one until then', () => {
  const entry =
    /^ {2}- \{ active_from: 2026-01-01, zone_slug: local-1, cpu_type: amd.*\n/m.exec(text)?.[0] ?? ''
  const later = entry.replace('2026-01-01', '2026-12-01').replace('"180.00"', '"200.00"')
  const catalog = parseCatalog(text.replace(entry, later + entry), 'catalog.yaml')
  const price = (date: string) => pricesAt(catalog.prices, 'local-1', 'amd', Date.parse(date))?.cpu
  expect(price('2025-12-31T23:59:59.999Z')).toBeUndefined()
  expect(price('2026-01-01T00:00:00Z')).toBe(1_800_000)
  expect(price('2026-11-30T23:59:59.999Z')).toBe(1_800_000)
  expect(price('2026-12-01T00:00:00Z')).toBe(2_000_000)
})

test('a custom plan stays within the limits and on their steps', () => {
  const catalog = parseCatalog(text, 'catalog.yaml')
  const place = { zoneSlug: 'local-1', cpuType: 'amd' as const, at: Date.parse('2026-11-20') }
  const plan = (cpu: number, ram_mb: number, disk_gb: number) => {
    const found = resolvePlan(catalog, { plan_type: 'custom', cpu, ram_mb, disk_gb }, place)
    return Array.isArray(found) ? found.map((issue) => `${issue.field} ${issue.code}`) : found.priceMonth
  }
  expect(plan(1, 512, 10)).toBe(3_000_000)
  expect(plan(1, 256, 5)).toBe(1_800_000 + 300_000 + 300_000)
  expect(plan(0, 100, 1)).toEqual(['cpu below_minimum', 'ram_mb below_minimum', 'disk_gb below_minimum'])
  expect(plan(33, 131_328, 2_005)).toEqual([
    'cpu above_maximum',
    'ram_mb above_maximum',
    'disk_gb above_maximum',
  ])
  expect(plan(1, 300, 7)).toEqual(['ram_mb not_a_step', 'disk_gb not_a_step'])
})

test('prices that overlap, leave a gap or can only be a slip are found, with their lines', () => {
  const amd =
    /^ {2}- \{ active_from: 2026-01-01, zone_slug: local-1, cpu_type: amd.*\n/m.exec(text)?.[0] ?? ''
  const added = (change: (entry: string) => string) => complaint(amd, amd + change(amd))
  const line = lineOf(amd) + 1
  expect(added((entry) => entry)).toBe(
    `catalog.yaml:${line}: local-1 amd has two entries that are active from 2026-01-01; keep one.`,
  )
  const later = (entry: string) => entry.replace('2026-01-01', '2026-12-01')
  expect(added((entry) => later(entry).replace('"180.00"', '"-1.00"'))).toContain(
    'in quotes and not negative',
  )
  expect(added((entry) => later(entry).replace('"180.00"', '"18.00"'))).toBe('nothing')
  expect(added((entry) => later(entry).replace('"120.00"', '"120000.00"'))).toContain(
    'more than 10000.00 is probably a typo',
  )
  expect(added((entry) => later(entry).replace('2026-12-01', '2026-02-30'))).toContain('must be a valid date')
  const existing = (day: string) => (entry: string) => later(entry).replace(' }', `, existing_from: ${day} }`)
  expect(added(existing('2026-12-15'))).toBe('nothing')
  expect(added(existing('2026-11-30'))).toBe(
    `catalog.yaml:${line}: existing_from (2026-11-30) is before active_from (2026-12-01).`,
  )
  const own = (entry: string) =>
    later(entry).replace(' }', ', preset_month_rub: { nano: "250.00", big: "1.00" } }')
  expect(added(own)).toBe(`catalog.yaml:${line}: no such preset: big.`)
  const gap = () => parseCatalog(text, 'catalog.yaml', Date.parse('2025-12-31'))
  expect(gap).toThrow(
    `catalog.yaml:${lineOf('- zone_slug: local-1')}: zone local-1 offers amd, but it has no price before 2026-01-01.`,
  )
})

test('a preset has a price of its own where an entry names one, and costs its parts elsewhere', () => {
  const named = text.replace(
    'disk_gb_month_rub: "6.00" }',
    'disk_gb_month_rub: "6.00", preset_month_rub: { nano: "249.00" } }',
  )
  const catalog = parseCatalog(named, 'catalog.yaml')
  const price = (cpuType: 'amd' | 'intel', slug: string) => {
    const preset = catalog.presets.find((candidate) => candidate.slug === slug)
    const place = { zoneSlug: 'local-1', cpuType, at: Date.parse('2026-11-20') }
    const plan = resolvePlan(catalog, { plan_type: 'preset', preset_id: preset?.presetId }, place)
    return Array.isArray(plan) ? plan : plan.priceMonth
  }
  expect([price('amd', 'nano'), price('intel', 'nano'), price('amd', 'micro')]).toEqual([
    2_490_000, 3_100_000, 4_200_000,
  ])
})

test('a zone on Incus names its cluster, and customers connect to where its members listen', () => {
  const own = '    overcommit: { cpu: 8, ram: 1, disk: 1 }\n'
  const zone = (incus: string) =>
    complaint(own, `${own}    driver: incus\n    incus: { instances: container, ${incus} }\n`)
  const socket = 'nameservers: [192.0.2.53], addresses: ["unix:/run/incus.socket"]'
  expect(complaint(own, `${own}    driver: incus\n`)).toContain('driver: incus requires incus')
  expect(complaint(own, `${own}    incus: { instances: container, ${socket} }\n`)).toContain(
    'requires driver',
  )
  expect(zone(`${socket}, uplink: none`)).toContain('uplink must be a network of the cluster')
  expect(zone('nameservers: [192.0.2.53], addresses: ["http://192.0.2.1"]')).toContain('https://host:port')
  const remote = 'nameservers: [192.0.2.53], addresses: ["https://192.0.2.1:8443"]'
  expect(zone(remote)).toContain('require certificate, key and server_certificate')
  const certificates = 'certificate: /a, key: /b, server_certificate: /c'
  expect(zone(`${remote}, ${certificates}`)).toContain('require listen')
  const whole = `${own}    driver: incus\n    incus: { instances: container, ${remote}, ${certificates}, listen: 192.0.2.1 }\n`
  const catalog = parseCatalog(text.replace(own, whole), 'catalog.yaml')
  expect(hostOf(catalog, 'local-1', 'cloud.example.com')).toBe('192.0.2.1')
  expect(hostOf(parseCatalog(text, 'catalog.yaml'), 'local-1', 'cloud.example.com')).toBe('cloud.example.com')
  const [micro] = catalog.templates
  const [first] = catalog.zones
  expect(first && micro && isFor(first, micro)).toBe(false)
})

test('an ISO of the operator has a checksum if it is downloaded, and a slug of its own', () => {
  const fault = (fields: string) =>
    complaint(/$/, `isos:\n  - { slug: debian, title: Debian, ${fields} }\n`).replace(/^.*?:\d+: /, '')
  const hash = 'a'.repeat(64)
  expect(fault(`url: "https://example.com/x.iso", sha256: ${hash}`)).toBe('nothing')
  expect(fault('file: installer.iso')).toBe('nothing')
  expect(fault('url: "https://example.com/x.iso"')).toBe('a url requires sha256, sha512 or checksums_url.')
  expect(fault(`url: "http://example.com/x.iso", sha256: ${hash}`)).toBe('isos.0.url has an invalid format.')
  expect(fault('retired: true')).toBe('an ISO requires a url or a file.')
  expect(fault('file: x.iso, build: debian-13')).toContain('build')
  expect(fault('file: x.iso, slug: micro')).toContain('isos.0.slug is there twice')
  const twice = complaint(/$/, 'isos:\n  - { slug: micro, title: Micro, file: x.iso }\n')
  expect(twice).toMatch(/a template has the slug "micro" already\.$/)
})
