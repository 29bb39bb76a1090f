import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { appliedMigrations } from '../../api/database/migrate.ts'
import { BEGINNING } from '../../api/events/types.ts'
import { type Server, startPostgres } from '../harness/postgres.ts'
import { brokenAfter } from './harness/aftermath.ts'
import { run } from './harness/berthd.ts'
import { Customers } from './harness/customers.ts'
import { Fleet } from './harness/fleet.ts'
import { randomNumbers } from './harness/load.ts'
import { earlierVersion, nextVersion, prepareBy } from './harness/versions.ts'

/** A commit from which to upgrade to this version; without it, this version is upgraded to one that is made up. */
const EARLIER = process.env.BERTH_TEST_EARLIER
const SEED = Number(process.env.BERTH_TEST_SEED ?? 15)

let postgres: Server
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.remove())

const MOST_LATE = 2

/** The first of each role in the fleet. */
const [API, WORKER] = [0, 2]

/** Asks each process again and again whether it is ready. */
class Watch {
  readonly #fleet: Fleet
  #isOver = false
  readonly #watching: Promise<void>
  readonly unready: string[] = []

  constructor(fleet: Fleet) {
    this.#fleet = fleet
    this.#watching = this.#watch()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#watching
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      for (const member of this.#fleet.members) {
        const { service } = member
        if (!service) continue
        const text = await fetch(new URL('/readyz', service.address)).then(
          async (reply) => (reply.ok ? null : await reply.text()),
          (error) => String(error.cause ?? error),
        )
        // A machine may be busy: a look that takes its time is no failure.
        const isFailed = text !== null && !text.includes('no answer')
        if (isFailed && member.service === service) this.unready.push(`${member.role}: ${text}`)
      }
      await sleep(100)
    }
  }
}

/** The process that holds the next version's duties, after the others have had time to take them. */
async function archiver({ db, members }: Fleet): Promise<number | null> {
  const beats = db.selectFrom('processes').select(['process_id', 'seen_at'])
  const before = new Map((await beats.execute()).map(({ process_id, seen_at }) => [process_id, seen_at]))
  const haveBeaten = async () =>
    (await beats.execute()).every(({ process_id, seen_at }) => seen_at > (before.get(process_id) ?? 0))
  await expect.poll(haveBeaten).toBe(true)
  const row = await db
    .selectFrom('duties')
    .innerJoin('processes', 'process_id', 'owner')
    .select('pid')
    .where('name', '=', 'archiver')
    .executeTakeFirst()
  return row ? members.findIndex(({ service }) => service?.process.pid === row.pid) : null
}

test('processes are replaced by those of another version one by one, under load, and no customer notices', async () => {
  const earlier = EARLIER ? earlierVersion(EARLIER) : undefined
  const prepare = (url: string, data: string) => prepareBy(earlier ?? '', url, data)
  const fleet = await Fleet.open(postgres, 'upgrade', earlier ? { program: earlier, prepare } : {})
  const schema = await appliedMigrations(fleet.db)
  const customers = new Customers(fleet, randomNumbers(SEED), 0, BEGINNING)
  const watch = new Watch(fleet)
  onTestFinished(async () => void (await Promise.all([customers.stop(), watch.stop()])))
  await customers.accepting('the start')

  fleet.program = earlier ? undefined : nextVersion()
  // The warnings that each process logged from its start to its end.
  const logs: (string | undefined)[] = []
  // The first that starts migrates the database, under those that serve.
  for (const index of [API, WORKER, 1, 3]) {
    const { service } = fleet.at(index)
    await fleet.end(index, 'SIGTERM')
    logs.push(service?.stderr)
    await fleet.start(index)
    await customers.accepting(`process ${index} was replaced`)
    if (!EARLIER && index === API) expect(await archiver(fleet)).toBe(null)
    if (!EARLIER && index === WORKER) await expect.poll(() => archiver(fleet)).toBe(WORKER)
  }
  // From a commit with the same tables there is nothing to refuse.
  const isMigrated = (await appliedMigrations(fleet.db)).length > schema.length
  expect(isMigrated || EARLIER !== undefined).toBe(true)
  const again = { DATABASE_URL: fleet.url, BERTH_DATA: fleet.at(0).data, BERTH_COMPUTE: 'simulator' }
  if (isMigrated)
    expect(await run(['serve', '--role', 'worker', '--port', '0'], again, earlier)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^The database was written by a newer version of Berth: .* Run that version\.\n$/,
      ),
    })

  await customers.rest()
  const broken = await brokenAfter(fleet.db, customers, 0)
  // The database of a busy machine may be late for a request or two; a migration that held it up is late for many.
  const late = customers.refused.filter((refusal) => refusal.includes('The database did not answer in time'))
  const refused = late.length > MOST_LATE ? late : customers.refused.filter((text) => !late.includes(text))
  expect({ broken, refused, unready: watch.unready }).toEqual({ broken: [], refused: [], unready: [] })
  for (const { service } of fleet.members) logs.push(service?.stderr)
  expect(logs.join('')).toBe('')
})
