import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findOutgoing, KEPT_MS, OutgoingLog } from './outgoing.ts'

const DAY = 24 * 3600_000
const NOON = Date.parse('2026-11-24T12:00:00Z')
const TO = { address: '192.0.2.9', port: 22 }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-outgoing-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const connection = (serverId: string, at: number, sourcePort: number | null = 40_000) => {
  return { at, serverId, protocol: 'tcp', sourcePort, ...TO }
}
const find = (at = NOON, sourcePort: number | null = null) =>
  findOutgoing(folder, { ...TO, sourcePort, at }).then((found) =>
    found?.map(({ serverId, what }) => [serverId, what]),
  )
const files = () => readdirSync(join(folder, 'outgoing')).filter((name) => name.endsWith('.log'))

test('a connection is found by its destination for a day after it began, and by its port if that is known', async () => {
  expect(await find()).toBeUndefined()
  const log = new OutgoingLog(folder)
  await log.add(
    [connection('a', NOON), connection('b', NOON, 40_001), connection('c', NOON, null)],
    NOON,
    true,
  )
  const [a, b, c] = [
    ['a', 'tcp from port 40000'],
    ['b', 'tcp from port 40001'],
    ['c', 'tcp, source port unknown'],
  ]
  expect(await find()).toEqual([a, b, c])
  expect(await find(NOON, 40_001)).toEqual([b, c])
  expect(await find(NOON + DAY - 1)).toEqual([a, b, c])
  for (const moment of [NOON - 61_000, NOON + DAY + 1]) expect(await find(moment)).toEqual([])
  expect(await findOutgoing(folder, { ...TO, port: 23, sourcePort: null, at: NOON })).toEqual([])
  const ofHost = { address: '198.51.100.2', port: 40_001, sourcePort: null, at: NOON }
  expect(await findOutgoing(folder, ofHost)).toMatchObject([
    { serverId: 'b', what: 'tcp from port 40001 to 192.0.2.9 port 22' },
  ])
})

test('no number of servers that fill their share of a day keeps the next one from its own', async () => {
  const log = new OutgoingLog(folder, 250_000)
  for (let server = 0; server < 20; server++) {
    const flood = Array.from({ length: 2_000 }, (_, at) => connection(`flood-${server}`, NOON + at))
    await log.add(flood, NOON, true)
  }
  await log.add([connection('quiet', NOON)], NOON, true)
  expect(statSync(join(folder, 'outgoing', files()[0] ?? '')).size).toBeLessThan(250_000)
  expect(await find()).toEqual(
    expect.arrayContaining([
      ['quiet', 'tcp from port 40000'],
      ['flood-19', 'more than a day records of a server'],
    ]),
  )
})

test('a restart continues the day with its shares, also after half a line', async () => {
  const flood = Array.from({ length: 2_000 }, (_, at) => connection('flood', NOON + at))
  await new OutgoingLog(folder, 100_000).add(flood, NOON, true)
  const file = join(folder, 'outgoing', files()[0] ?? '')
  const before = readFileSync(file, 'utf8')
  appendFileSync(file, `${NOON} quiet tc`)
  const next = new OutgoingLog(folder, 100_000)
  await next.add([...flood, connection('quiet', NOON)], NOON, true)
  expect(readFileSync(file, 'utf8').replace(before, '').split('\n').slice(1)).toEqual([
    `${NOON} quiet tcp 40000 192.0.2.9 22`,
    '',
  ])
})

test('days are kept for 90 days', async () => {
  const log = new OutgoingLog(folder)
  await log.add([connection('a', NOON)], NOON, true)
  await log.add([connection('a', NOON + 90 * DAY)], NOON + 90 * DAY, true)
  expect(files()).toEqual(['2026-11-24.log', '2027-02-22.log'])
  await log.add([], NOON + 91 * DAY, true)
  expect(files()).toEqual(['2027-02-22.log', '2027-02-23.log'])
})

test('an answer says when connections may be missing: counted, lost, or while no service ran', async () => {
  const log = new OutgoingLog(folder)
  await log.add([{ at: NOON, serverId: 'a', count: 7 }], NOON, true)
  await log.add([{ at: NOON + 60_000, serverId: 'a', count: 5 }], NOON + 60_000, true)
  expect(await find()).toEqual([['a', '12 or more not recorded, within the hour']])
  const later = NOON + 3 * 3600_000
  await new OutgoingLog(folder).add([], later, true)
  expect(await find(later - 1)).toEqual([[null, 'the service did not record']])
  await new OutgoingLog(folder).add([], later + KEPT_MS, true)
  expect(await find(later + KEPT_MS + 2 * 3600_000)).toEqual([])
  // Without guests there is nothing to record.
  const last = new OutgoingLog(folder)
  await last.rest()
  await last.add([], later + DAY, false)
  expect(await find(later + DAY)).toEqual([])
})
