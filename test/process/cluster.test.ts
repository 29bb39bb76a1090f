import { copyFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFailed, onTestFinished, test } from 'vitest'
import { openPostgres } from '../../api/database/postgres.ts'
import { BEGINNING } from '../../api/events/types.ts'
import { type Server, startPostgres } from '../harness/postgres.ts'
import { brokenAfter } from './harness/aftermath.ts'
import { berthd, folder, order, run, type Service, serveOn } from './harness/berthd.ts'
import { Customers } from './harness/customers.ts'
import { Fleet } from './harness/fleet.ts'
import { brokenLedgers } from './harness/invariants.ts'
import { randomNumbers } from './harness/load.ts'

/** A dead process's work is taken over within a quarter of this time on an idle machine. */
const TAKEN_OVER_MS = 60_000

let postgres: Server
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.remove())

interface Cluster {
  url: string
  services: Service[]
}

/** Processes of these roles on one database and data folder, for one account. */
async function cluster(name: string, roles: readonly ('api' | 'worker')[]): Promise<Cluster> {
  const url = await postgres.create(name)
  const data = folder()
  const [first = 'api', ...others] = roles
  const one = await serveOn(url, data, { BERTH_ROLE: first })
  const more = others.map((role) => serveOn(url, data, { BERTH_ROLE: role, TOKEN: one.token }))
  return { url, services: [one, ...(await Promise.all(more))] }
}

/** The messages of the processes to each other, from now on. */
async function listenTo(url: string): Promise<string[]> {
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  const messages: string[] = []
  client.on('notification', ({ payload = '' }) => messages.push(payload))
  await client.query('LISTEN berth')
  return messages
}

const idOf = async (reply: Response) => ((await reply.json()) as { server_id: string }).server_id // by the contract

/** One of those that were started. */
function at(services: readonly Service[], index: number): Service {
  const service = services[index]
  if (!service) throw new Error(`there is no process ${index}`)
  return service
}

test('work ordered at one process is done by another at once, and a caller waiting at a third is notified', async () => {
  const { services, url } = await cluster('three', ['api', 'api', 'worker'])
  const [api, other] = [at(services, 0), at(services, 1)]
  const id = await idOf(await api.send('POST', '/servers', { ...(await order(api)), start_on_create: false }))
  const status = async () => (await api.call('GET', `/servers/${id}`)).body.status
  await expect.poll(status).toBe('stopped')

  const stream = await other.send('GET', '/events/stream')
  const reader = stream.body?.getReader()
  await reader?.read()
  const rung = await listenTo(url)
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const news = reader?.read()
    const { body } = await api.send('POST', '/account/projects', { name })
    await body?.cancel()
    expect(new TextDecoder().decode((await news)?.value)).toContain('project.created')
  }
  await reader?.cancel()
  // Processes that were not notified would look for the events only now and then.
  await expect
    .poll(() => rung.filter((message) => message.startsWith('["published"')).length)
    .toBeGreaterThan(4)

  // As the migration of a version to come: those that serve don't know it, and go on.
  const db = openPostgres(url)
  onTestFinished(() => db.destroy())
  await sql`ALTER TABLE servers ADD COLUMN later integer NOT NULL DEFAULT 0`.execute(db)
  await sql`INSERT INTO kysely_migration VALUES ('9999-later', '')`.execute(db)
  for (const news of ['', '{"later":1}', '["later",1]', '["operations",1]'])
    await sql`SELECT pg_notify('berth', ${news})`.execute(db)
  const { body } = await api.call('DELETE', `/servers/${id}`)
  const operationId = body.operation_id ?? body.current_operation?.operation_id
  const waited = (await other.call('GET', `/operations/${operationId}?wait=20`)).body
  expect(waited.status).toBe('succeeded')
  await expect.poll(() => rung.some((m) => m.startsWith('["ended"') && m.includes(operationId))).toBe(true)

  // A ticket for a console is good at any process, and limits are shared by those that answer.
  const policy = (await api.send('GET', '/account/me')).headers.get('ratelimit-policy')
  expect(policy).toContain('q=500000')
  // Guessing passwords through several processes gains nothing.
  const guess = (n: number) =>
    at(services, n % 2).send('POST', '/sign-in', { email: 'ann@example.com', password: `guess ${n}` })
  for (let n = 0; n < 10; n += 1) expect((await guess(n)).status).toBe(401)
  const [tooMany, tooManyThere] = [await guess(10), await guess(11)]
  expect([tooMany.status, tooManyThere.status]).toEqual([429, 429])
  expect(Number(tooMany.headers.get('retry-after'))).toBeGreaterThan(120)
  await sql`DELETE FROM kysely_migration WHERE name = '9999-later'`.execute(db)
  const alone = berthd(['serve', '--role', 'worker'], { BERTH_DATA: folder(), DATABASE_URL: url, PORT: '0' })
  expect(await alone.ended).toMatchObject({ code: 2 })
  expect(alone.stderr).toMatch(/^BERTH_ROLE \(--role\) is "worker": QEMU runs servers on this host alone/)
})

/** How many days the month of faults has, and which ones; npm test has one of them. */
const DAYS = Number(process.env.BERTH_TEST_DAYS ?? 1)
const SEED = Number(process.env.BERTH_TEST_SEED ?? 15)
const HOUR_MS = 3600_000

/** The latest events of the month: a test that fails says how far it came. */
const latest: string[] = []

function tell(what: string): void {
  latest.push(`${new Date().toISOString()} ${what}`)
  if (DAYS > 1) console.log(what)
}

/** Faults of a process, the database or a clock. Each lasts at most as long as its detection takes. */
const faults: Record<string, (fleet: Fleet, random: () => number) => Promise<unknown>> = {
  'a worker is killed': async (fleet, random) => {
    // One that does something for all, as one of them always does.
    const held = await fleet.holders()
    const busy = fleet.members.findIndex(({ service }) => held.has(service?.process.pid ?? 0))
    const index = busy >= 0 && random() < 0.7 ? busy : 2
    const pid = fleet.at(index).service?.process.pid ?? 0
    await fleet.end(index, 'SIGKILL')
    const gone = async () => !(await fleet.holders()).has(pid)
    const began = performance.now()
    await expect.poll(gone, { timeout: TAKEN_OVER_MS }).toBe(true)
    tell(`what it did is taken over after ${((performance.now() - began) / 1000).toFixed(1)} s (target: 15)`)
    await fleet.start(index)
  },
  'an API is killed': async (fleet, random) => {
    const index = random() < 0.5 ? 0 : 1
    await fleet.end(index, 'SIGKILL')
    await sleep(2_000)
    await fleet.start(index)
  },
  'the database restarts': async () => {
    await postgres.stop()
    await sleep(500)
    await postgres.start()
  },
  'a process is cut off': (fleet, random) => fleet.part(one(random), 'refuses', 3_000),
  'a process is cut off in silence': (fleet, random) => fleet.part(one(random), 'is silent', 10_000),
  'a clock is ahead': (fleet, random) => fleet.step(one(random), HOUR_MS, 4_000),
  'a clock is behind': (fleet, random) => fleet.step(one(random), -HOUR_MS, 4_000),
  'a disk is full': (fleet, random) => fleet.fill(random() < 0.5 ? 2 : 3, 6_000),
  'a process is paused': (fleet, random) => fleet.pause(one(random), 10_000),
  'a process is restarted': async (fleet, random) => {
    const index = one(random)
    await fleet.end(index, 'SIGTERM')
    await fleet.start(index)
  },
}
/** The first day has each kind of fault, some at the same time. */
const FIRST_DAY = [
  ['a worker is killed', 'a clock is ahead'],
  ['an API is killed', 'a disk is full'],
  ['the database restarts'],
  ['a process is cut off in silence', 'a process is restarted'],
]

/** Any of the four. */
const one = (random: () => number) => Math.floor(random() * 4)

function faultsOf(day: number, random: () => number): string[][] {
  if (day === 0) return FIRST_DAY
  const names = Object.keys(faults)
  const any = () => names[Math.floor(random() * names.length)] ?? ''
  return [[any()], [any(), any()].slice(0, 1 + (one(random) % 2)), [any()]]
}

/** Hours in which nobody does anything but the service. */
async function night(fleet: Fleet, random: () => number): Promise<void> {
  for (let quarter = 0; quarter < 4; quarter += 1) {
    tell(`quarter ${quarter} of the night`)
    await fleet.pass(6 * HOUR_MS)
    if (quarter === one(random)) {
      const held = await fleet.holders()
      const busy = fleet.members.findIndex(({ service }) => held.has(service?.process.pid ?? 0))
      if (busy >= 0) {
        await fleet.end(busy, 'SIGKILL')
        await fleet.start(busy)
      }
    }
    const due = fleet.db.selectFrom('billing_meters').select('server_id')
    const now = async () =>
      (
        await sql<{
          ms: number
        }>`SELECT CAST(EXTRACT(EPOCH FROM travel.clock_timestamp()) * 1000 AS bigint) AS ms`.execute(fleet.db)
      ).rows[0]?.ms ?? 0
    const late = async () => (await due.where('due_at', '<=', await now()).execute()).length
    await expect.poll(late, { timeout: 2 * TAKEN_OVER_MS }).toBe(0)
  }
}

test(
  `in a month of faults at random nothing is lost, doubled or stuck (${DAYS} days of it)`,
  async () => {
    onTestFailed(() => console.error(latest.slice(-20).join('\n')))
    const random = randomNumbers(SEED)
    const fleet = await Fleet.open(postgres, 'month')
    const events = { last: BEGINNING, position: 0 }
    for (let day = 0; day < DAYS; day += 1) {
      const customers = new Customers(fleet, random, day, events.last)
      onTestFinished(() => customers.stop())
      for (const these of faultsOf(day, random)) {
        tell(`day ${day}: ${these.join(', ')}`)
        await Promise.all(these.map((name) => faults[name]?.(fleet, random)))
        tell('the faults are over')
        await customers.accepting(these.join(', '))
      }
      tell('customers rest')
      await customers.rest()
      expect(await brokenAfter(fleet.db, customers, events.position)).toEqual([])
      tell('the day is over')
      await customers.stop()
      events.last = customers.heard.at(-1) ?? events.last
      events.position += customers.heard.length
      await night(fleet, random)
      expect(await brokenLedgers(fleet.db)).toEqual([])
    }
  },
  200_000 * (DAYS + 2),
)

test('an operator’s change of the catalogue at one process is in force at all that read the file, and nowhere if one reads another', async () => {
  const url = await postgres.create('catalogue')
  const [data, elsewhere] = [folder(), folder()]
  const one = await serveOn(url, data, { BERTH_ROLE: 'api' })
  const two = await serveOn(url, data, { BERTH_ROLE: 'worker', TOKEN: one.token })
  const bounds = ['--scope', 'operator:read', '--scope', 'operator:money', '--cidr', '127.0.0.1']
  const env = { BERTH_DATA: data, DATABASE_URL: url }
  const made = await run(['operator', 'token', 'create', 'shop', ...bounds], env)
  const headers = { authorization: `Bearer ${made.stdout.trim()}` }
  const three = await serveOn(url, data, { BERTH_ROLE: 'api', TOKEN: one.token })
  const title = async ({ call }: Service) => (await call('GET', '/zones')).body[0].title
  const retitle = async (from: string, to: string) => {
    const reply = await one.send('GET', '/operator/catalog', undefined, headers)
    const { text, hash } = (await reply.json()) as { text: string; hash: string } // by the contract
    const body = { text: text.replace(`title: ${from}`, `title: ${to}`), hash }
    return one.send('PUT', '/operator/catalog', body, headers)
  }
  expect((await retitle('This machine', 'Elsewhere')).status).toBe(200)
  expect(await title(one)).toBe('Elsewhere')
  await expect.poll(() => title(three)).toBe('Elsewhere')
  two.process.kill('SIGTERM')
  await two.ended
  copyFileSync(path.join(data, 'secret.key'), path.join(elsewhere, 'secret.key'))
  await serveOn(url, elsewhere, { BERTH_ROLE: 'api', TOKEN: one.token })
  const refused = await retitle('Elsewhere', 'Nowhere')
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining(path.join(elsewhere, 'catalog.yaml')),
  ])
  expect(await title(one)).toBe('Elsewhere')
})
