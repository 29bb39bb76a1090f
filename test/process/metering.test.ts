import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../api/database/sqlite.ts'
import { start } from './harness/child.ts'
import { METERED, START } from './harness/metered.ts'

/** The thousand takes some minutes: BERTH_KILLS=1000. */
const KILLS = Number(process.env.BERTH_KILLS ?? 60)
/** A round of charges takes some milliseconds; a child that was just started does dozens within this time. */
const LATEST_KILL_MS = 40

test('a process that is killed in the middle of charging loses no charge and doubles none', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-metering-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = path.join(folder, 'berth.db')
  expect(await start('test/process/harness/meter.ts', [file, 'open']).ended).toMatchObject({ code: 0 })
  let hours = 0
  for (let kill = 1; kill <= KILLS; kill++) {
    const child = start('test/process/harness/meter.ts', [file])
    // It charges, however busy the machine is; then a spread of moments, the same in every run.
    await child.line((line) => line === 'an hour')
    await sleep((kill * 7.3) % LATEST_KILL_MS)
    child.process.kill('SIGKILL')
    expect(await child.ended, child.stderr).toMatchObject({ signal: 'SIGKILL' })
    if (kill % 20 === 0 || kill === KILLS) hours = await examine(file)
  }
  expect(hours).toBeGreaterThanOrEqual(KILLS - 1)
}, 900_000)

/** Adds up what is in the ledger by itself. @returns how many hours the slowest server is charged for */
async function examine(file: string): Promise<number> {
  const db = openSqlite(file)
  const meters = await db.selectFrom('billing_meters').selectAll().execute()
  const rates = await db.selectFrom('rates').selectAll().orderBy('starts_at').execute()
  const entries = await db.selectFrom('transactions').selectAll().orderBy('hour').execute()
  const ledgers = await db.selectFrom('ledgers').selectAll().execute()
  await db.destroy()
  expect(meters).toHaveLength(METERED)
  for (const { item_id, account_id, charged_until } of meters) {
    const charges = entries.filter((entry) => entry.item_id === item_id)
    // One after the other, without a gap: each begins in the hour that the one before has ended with.
    const seconds = charges.reduce((sum, charge) => sum + (charge.seconds ?? 0), 0)
    expect(seconds).toBe((charged_until - START) / 1000)
    expect(charges.map((charge) => charge.hour)).toEqual(
      charges.map((_, at) => START - (START % 3600_000) + at * 3600_000),
    )
    const own = rates.filter((rate) => rate.item_id === item_id)
    const sum = charges.reduce((total, charge) => total - charge.amount, 0)
    expect(sum).toBe(cost(own, charged_until))
    expect(ledgers.find((ledger) => ledger.account_id === account_id)?.balance ?? 0).toBe(0 - sum)
  }
  return Math.min(...meters.map((meter) => (meter.charged_until - START) / 3600_000))
}

type Rate = { starts_at: number; ends_at: number | null; price_hour: number; price_month: number }

/** The rule by itself: month by month, to the kopeck, and not above the highest month price. */
function cost(rates: Rate[], until: number): number {
  let total = 0
  for (let month = 10; Date.UTC(2026, month) < until; month++) {
    const [from, end] = [Date.UTC(2026, month), Math.min(until, Date.UTC(2026, month + 1))]
    const parts = rates
      .map((rate) => ({ ...rate, ms: Math.min(rate.ends_at ?? end, end) - Math.max(rate.starts_at, from) }))
      .filter((part) => part.ms > 0)
    const unitSeconds = parts.reduce((sum, part) => sum + (part.ms / 1000) * part.price_hour, 0)
    const cap = Math.max(0, ...parts.map((part) => part.price_month))
    total += Math.min(cap, Math.floor((unitSeconds + 180_000) / 360_000) * 100)
  }
  return total
}
