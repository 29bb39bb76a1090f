import fc from 'fast-check'
import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { chargeBatch } from '../../../api/billing/metering.ts'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { LiveCatalog } from '../../../api/catalog/live.ts'
import { dryRun } from '../../../api/database/database.ts'
import { parseMoney } from '../../../api/money.ts'
import { billedItems } from '../../../api/servers/queries.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { order } from '../harness/ordering.ts'

const HOUR = 3600_000

/** A server's price on the wire, and the period in which it was billed at it. */
interface Stretch {
  server: string
  from: number
  until: number | null
  hour: bigint
  month: bigint
}

/**
 * The rule of the contract by itself, in whole numbers: a server costs, in each calendar month, its seconds at their
 * hour prices, rounded half up to kopecks but at least to one, and no more than the highest month price it had in that
 * month.
 */
function modelCost(stretches: Stretch[], chargedUntil: (server: string) => number): Map<string, bigint> {
  const costs = new Map<string, bigint>()
  for (const server of new Set(stretches.map((stretch) => stretch.server))) {
    const end = chargedUntil(server)
    for (let month = 10; month < 40; month++) {
      const [from, until] = [Date.UTC(2026, month), Math.min(end, Date.UTC(2026, month + 1))]
      let [sum, cap] = [0n, 0n]
      for (const stretch of stretches.filter((candidate) => candidate.server === server)) {
        const ms = Math.min(stretch.until ?? until, until) - Math.max(stretch.from, from)
        if (ms <= 0) continue
        sum += BigInt(ms / 1000) * stretch.hour
        if (stretch.month > cap) cap = stretch.month
      }
      const kopecks = (sum + 180_000n) / 360_000n
      const rounded = (kopecks === 0n && sum > 0n ? 1n : kopecks) * 100n
      const cost = rounded < cap ? rounded : cap
      costs.set(server, (costs.get(server) ?? 0n) + cost)
    }
  }
  return costs
}

type Command =
  | { do: 'create'; cpu: number; starts: boolean }
  | { do: 'start' | 'stop' | 'delete'; which: number }
  | { do: 'resize'; which: number; cpu: number }
  | { do: 'wait'; ms: number }
  | { do: 'credit'; rubles: number; reference: number }
  | { do: 'price'; percent: number; isForExisting: boolean }
  | { do: 'look' }
  | { do: 'crash' }

const which = fc.nat(5)
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('create'),
      cpu: fc.integer({ min: 1, max: 4 }),
      starts: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('start', 'stop', 'stop', 'delete'), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('resize'), which, cpu: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      ms: fc.oneof(
        fc.integer({ min: 1, max: 2 * HOUR }),
        fc.constantFrom(HOUR, 24 * HOUR, 9 * 24 * HOUR, 31 * 24 * HOUR),
        // A clock that is set back.
        fc.constantFrom(-HOUR, -3 * HOUR, -40 * 60_000),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('credit'),
      rubles: fc.integer({ min: 1, max: 500 }),
      reference: fc.nat(3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('price'),
      percent: fc.integer({ min: 50, max: 200 }),
      isForExisting: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('look') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash') }) },
) as fc.Arbitrary<Command> // constantFrom gives each of the words

/** Plays a history against the service, and writes down what its customer could see of it. */
class History {
  readonly #t: TestApp
  readonly #catalog: LiveCatalog
  readonly ids: string[] = []
  readonly credits = new Map<number, number>()
  #prices = ''

  constructor(t: TestApp, catalog: LiveCatalog) {
    this.#t = t
    this.#catalog = catalog
  }

  async play(step: Command): Promise<void> {
    const t = this.#t
    if (step.do === 'create') {
      const custom = { plan_type: 'custom', preset_id: undefined, cpu: step.cpu, ram_mb: 1024, disk_gb: 10 }
      const request = await order(t.call, { ...custom, start_on_create: step.starts })
      const quote = (await t.call('POST', '/pricing/quote', request)).body
      const { status, body } = await t.call('POST', '/servers', request)
      expect(status === 202).toBe(quote.can_create)
      if (status !== 202) return
      expect([body.price_hour_rub, body.price_month_rub]).toEqual([
        quote.price_hour_rub,
        quote.price_month_rub,
      ])
      this.ids.push(body.server_id)
      await t.finish()
    }
    if (step.do === 'start' || step.do === 'stop' || step.do === 'delete' || step.do === 'resize') {
      const id = this.ids[step.which % Math.max(1, this.ids.length)]
      if (!id) return
      const [method, path, body] =
        step.do === 'delete'
          ? (['DELETE', `/servers/${id}`, undefined] as const)
          : step.do === 'resize'
            ? (['PATCH', `/servers/${id}`, { plan_type: 'custom', cpu: step.cpu, ram_mb: 1024 }] as const)
            : (['POST', `/servers/${id}/${step.do}`, undefined] as const)
      await t.call(method, path, body)
      await t.finish()
    }
    if (step.do === 'wait') t.clock.advance(step.ms)
    if (step.do === 'look') await t.app.billing.look().then(() => t.finish())
    if (step.do === 'crash') await this.#crash()
    if (step.do === 'price') this.#changePrice(step)
    if (step.do === 'credit') await this.#credit(step)
    for (const id of this.ids) await this.#isBilledAsShown(id)
  }

  /** At every moment a server is billed at the price that its customer is shown. */
  async #isBilledAsShown(id: string): Promise<void> {
    const { status, body } = await this.#t.call('GET', `/servers/${id}/details`)
    const rates = await this.#t.db
      .selectFrom('rates')
      .selectAll()
      .where('item_id', '=', id)
      .orderBy('starts_at')
      .execute()
    const open = rates.filter((rate) => rate.ends_at === null)
    const isShown = status === 200 && body.billing.billed_since !== null
    const isBilled = isShown && body.status !== 'suspended' && body.status !== 'deleting'
    expect(open.map((rate) => [rate.price_hour, rate.price_month])).toEqual(
      isBilled ? [[parseMoney(body.price_hour_rub), parseMoney(body.price_month_rub)]] : [],
    )
    const since = isShown ? Date.parse(body.billing.billed_since) : 0
    // A rate that ended in the second in which it began, or earlier as the clock was set back, leaves no charge.
    if (isShown && (isBilled || rates.length > 0)) expect(rates[0]?.starts_at).toBe(since - (since % 1000))
  }

  /** A round of billing that dies before its commit is as if it had never been. */
  #crash(): Promise<void> {
    const { db, clock } = this.#t
    return dryRun(db, async (tx) => void (await chargeBatch(tx, billedItems, clock.now())))
  }

  #changePrice({ percent, isForExisting }: Extract<Command, { do: 'price' }>): void {
    const day = new Date(this.#t.clock.now() + 24 * HOUR).toISOString().slice(0, 10)
    if (this.#prices.includes(day)) return
    const existing = isForExisting ? `, existing_from: ${day}` : ''
    const cpu = `${Math.floor((180 * percent) / 100)}.00`
    this.#prices += `  - { active_from: ${day}, zone_slug: local-1, cpu_type: amd, cpu_month_rub: "${cpu}", ram_gb_month_rub: "120.00", disk_gb_month_rub: "6.00"${existing} }\n`
    this.#catalog.replace(
      parseCatalog(catalogText.replace('prices:\n', `prices:\n${this.#prices}`), 'catalog.yaml'),
    )
  }

  async #credit({ rubles, reference }: Extract<Command, { do: 'credit' }>): Promise<void> {
    const { db, clock, accountId } = this.#t
    // The same reference comes again with the same amount, as from a provider that repeats itself.
    const amount = this.credits.get(reference) ?? rubles
    this.credits.set(reference, amount)
    const payment = { accountId, type: 'payment', description: 'top-up', reference: `p${reference}` } as const
    await post(db, clock, { ...payment, amount: amount * 10_000 })
  }
}

/** Compares all that can be seen of the money with the model and with itself. */
async function compare(t: TestApp, history: History): Promise<void> {
  const [rates, meters, entries] = await Promise.all([
    t.db.selectFrom('rates').selectAll().orderBy('starts_at').execute(),
    t.db.selectFrom('billing_meters').selectAll().execute(),
    t.db.selectFrom('transactions').selectAll().orderBy('sequence').execute(),
  ])
  const stretches = rates.map(({ item_id, starts_at, ends_at, price_hour, price_month }) => ({
    server: item_id,
    from: starts_at,
    until: ends_at,
    hour: BigInt(price_hour),
    month: BigInt(price_month),
  }))
  const ends = new Map(meters.map((meter) => [meter.item_id, meter.charged_until]))
  const costs = modelCost(stretches, (server) => ends.get(server) ?? 0)
  const usage = await allUsage(t)
  for (const id of history.ids) {
    const charged = entries.filter((entry) => entry.item_id === id)
    const sum = charged.reduce((total, entry) => total - BigInt(entry.amount), 0n)
    expect(sum).toBe(costs.get(id) ?? 0n)
    expect(usage.get(id) ?? 0n).toBe(sum)
    expect(new Set(charged.map((entry) => entry.hour)).size).toBe(charged.length)
  }
  const paid = [...history.credits.values()].reduce((total, rubles) => total + rubles, 0)
  const charged = [...costs.values()].reduce((total, cost) => total + cost, 0n)
  const balance = BigInt(parseMoney(START) + paid * 10_000) - charged
  expect(BigInt(parseMoney((await t.call('GET', '/account/balance')).body.balance))).toBe(balance)
  expect(entries.reduce((total, entry) => total + BigInt(entry.amount), 0n)).toBe(balance)
}

const START = '2000'

async function allUsage(t: TestApp): Promise<Map<string, bigint>> {
  const sums = new Map<string, bigint>()
  for (let month = 10; month < 40; month++) {
    const name = new Date(Date.UTC(2026, month)).toISOString().slice(0, 7)
    const { items } = (await t.call('GET', `/account/usage?month=${name}`)).body
    for (const { item_id, amount } of items)
      sums.set(item_id, (sums.get(item_id) ?? 0n) + BigInt(parseMoney(amount)))
  }
  return sums
}

test('whatever happens, ledger, balance, usage and quote agree with the rule to the last unit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
      const catalog = new LiveCatalog(parseCatalog(catalogText, 'catalog.yaml'))
      const t = await testApp({ catalog, balance: START })
      const history = new History(t, catalog)
      for (const step of steps) await history.play(step)
      await t.app.billing.look()
      await compare(t, history)
    }),
    // Shrinking ends in time for the report to name the seed and what it found.
    { numRuns: Number(process.env.BERTH_RUNS ?? 25), interruptAfterTimeLimit: 250_000 },
  )
})
