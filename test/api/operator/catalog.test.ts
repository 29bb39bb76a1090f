import { expect, test } from 'vitest'
import { catalogText, type TestApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'
import { HASH, MASKED, MIRROR, secretText, withFile, withSource } from './harness/catalog.ts'
import { makeOperatorToken } from './harness/shop.ts'

/** The shipped catalogue without an address that has a query. */
const plain = catalogText.replace('lookup?op=get&options=mr&search=', 'lookup/')
const NOW = Date.parse('2026-11-28')

test('the operator reads the catalogue in force, since when it is, and why a later version is refused', async () => {
  const { call, opened, write } = await withFile(plain)
  const first = await call('GET', '/operator/catalog')
  expect(first).toMatchObject({ status: 200, body: { text: plain, errors: [] } })
  expect(first.body.hash).toMatch(/^[0-9a-f]{64}$/)
  const etag = { 'if-none-match': first.headers.etag ?? '' }
  expect((await call('GET', '/operator/catalog', undefined, etag)).status).toBe(304)
  write('zones: [')
  await opened.look(NOW + 5_000)
  const refused = (await call('GET', '/operator/catalog', undefined, etag)).body
  expect(refused).toMatchObject({ text: plain, hash: first.body.hash })
  expect(refused.errors).toEqual([expect.stringMatching(/^catalog\.yaml: .* at line 1/)])
  const edited = plain.replace('title: This machine', 'title: Elsewhere')
  write(edited)
  await opened.look(NOW + 10_000)
  expect((await call('GET', '/operator/catalog')).body).toMatchObject({
    ...{ text: edited, in_force_since: '2026-11-28T00:00:10.000Z', errors: [] },
  })
})

test('no reply contains the password or the signature of an image’s address', async () => {
  const { call, check, opened, write } = await withFile(`${secretText}\n# ${MIRROR}\n`)
  const { body } = await call('GET', '/operator/catalog')
  expect(body.text).toContain(`url: "${MASKED}"`)
  expect(body.text).toContain(`# ${MASKED}`)
  write(secretText.replace(MIRROR, `${MIRROR}" "`))
  await opened.look(NOW)
  const replies = [
    body,
    (await call('GET', '/operator/catalog')).body,
    await check(body.text.replace(HASH, '0'.repeat(64))),
    await check(`zones: [ "${MASKED}"`),
    await check(secretText.replace(`sha256: ${HASH}`, 'unsigned: true')),
  ]
  expect(JSON.stringify(replies)).not.toMatch(/s3cret|X-Signature/)
})

test('a check compares a text with the catalogue in force, counts the servers that a price affects, and changes nothing', async () => {
  const { t, call, check } = await withFile()
  const { text, hash } = (await call('GET', '/operator/catalog')).body
  // The masked address stands for the one in force.
  expect(await check(text)).toEqual({
    ...{ is_valid: true, errors: [], differences: [], unchecked_sources: [] },
  })
  const repeatable = { 'idempotency-key': 'check-1' }
  expect((await call('POST', '/operator/catalog/check', { text }, repeatable)).status).toBe(200)
  await make(t, { name: 'web-1' })
  const priced = text.replace(/^prices:\n/m, (line: string) => `${line}${entry('"200.00"')}`)
  const met = await check(priced)
  expect(met.errors).toEqual([])
  expect(met.differences.join()).toMatch(/local-1 amd from 2027-01-01.*1 existing server of 1 account/)
  const slip = await check(priced.replace('"200.00"', '"500.00"'))
  expect(slip).toMatchObject({ is_valid: false })
  expect(slip.errors.join()).toContain('changes more than twofold')
  expect((await check(text.replace('cpu_types: [amd, intel]', 'cpu_types: [arm]'))).errors[0]).toMatch(
    /^catalog\.yaml:\d+: .*must be one of amd, intel/,
  )
  expect((await call('GET', '/operator/catalog')).body.hash).toBe(hash)
})

const entry = (cpu: string) =>
  `  - { active_from: 2027-01-01, zone_slug: local-1, cpu_type: amd, cpu_month_rub: ${cpu}, ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00", existing_from: 2027-01-01 }\n`

test('a token can’t find out by a check which files the host has', async () => {
  const { check } = await withFile(catalogText)
  const there = await check(withSource('file: /etc/passwd'))
  expect(there).toMatchObject({ is_valid: true, unchecked_sources: ['micro'] })
  const missing = await check(withSource('file: /etc/no-such-file'))
  expect(missing).toEqual(there)
  expect(await check(withSource('file: ../../../etc/shadow'))).toEqual(there)
  const server = withSource(`url: "http://169.254.169.254/key", sha256: ${HASH}`)
  expect((await check(server)).errors.length).toBeGreaterThan(0)
  const iso = `${catalogText}\nisos: [{ slug: stolen, title: Stolen, file: /etc/shadow }]\n`
  expect(await check(iso)).toMatchObject({ unchecked_sources: ['stolen'] })
})

test('an oversized, a hostile and an empty catalogue are refused', async () => {
  const { call, check, t } = await withFile(catalogText)
  const send = async (body: unknown) => (await call('POST', '/operator/catalog/check', body)).status
  expect(await send({ text: 'x'.repeat(100_001) })).toBe(422)
  expect(await send({ text: 'x'.repeat(300_000) })).toBe(413)
  expect(await send({ text: '' })).toBe(422)
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghij'].map((name, at) => `${name}: &${name} [${`*${'abcdefghi'[at]},`.repeat(9)}]\n`).join('')}`
  expect(await check(bomb)).toMatchObject({ is_valid: false, differences: [] })
  const commas = await check(`[${','.repeat(90_000)}`)
  expect(commas).toMatchObject({ is_valid: false, errors: [expect.stringContaining('too many parts')] })
  const keys = Array.from({ length: 4_000 }, (_, at) => `k${at}: 1\n`).join('')
  expect((await check(`${keys}k7: 1`)).errors).toEqual(['catalog.yaml:4001: k7 is there twice; keep one.'])
  expect((await check('['.repeat(20_000))).is_valid).toBe(false)
  const { errors } = await check(`${catalogText}\n${'isos: [{}, {}]\n'.repeat(1_000)}`)
  expect(errors.length).toBeLessThanOrEqual(200)
  expect(await shut(t)).toEqual([403, 403])
})

/** The statuses for a token that may not read. */
async function shut(t: TestApp) {
  const { value } = await makeOperatorToken(t, ['operator:write'])
  const call = t.callAs(value)
  const check = await call('POST', '/operator/catalog/check', { text: catalogText })
  return [(await call('GET', '/operator/catalog')).status, check.status]
}
