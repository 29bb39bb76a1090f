import { expect, onTestFinished, test } from 'vitest'
import { forgetExpired } from '../../../api/people/expired.ts'
import { Attempts, NetworkAttempts } from '../../../api/people/guard/attempts.ts'
import { ManualClock } from '../../harness/clock.ts'
import { testDatabase } from '../../harness/database.ts'

const MINUTE = 60_000

/** As two processes on one database have them. */
async function two(allowance: { burst: number; everyMs: number }) {
  const clock = new ManualClock()
  const { db, drop } = await testDatabase()
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  const one = () => new Attempts({ db, clock }, 'tests', allowance)
  return { clock, db, here: one(), there: one() }
}

const isTaken = (taken: Promise<void>) =>
  taken.then(
    () => true,
    () => false,
  )

test('processes count what is tried of somebody together, also at the same instant', async () => {
  const { clock, here, there } = await two({ burst: 5, everyMs: MINUTE })
  const tries = Array.from({ length: 16 }, (_, at) => isTaken((at % 2 === 0 ? here : there).take('ann')))
  expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(5)
  await expect(there.take('ann')).rejects.toMatchObject({ headers: { 'retry-after': '60' } })
  await there.take('ben')

  // One more a minute, wherever it is tried.
  clock.advance(MINUTE)
  expect([await isTaken(here.take('ann')), await isTaken(there.take('ann'))]).toEqual([true, false])
  // An attempt that turns out to be none is returned to all counters.
  await here.giveBack('ann')
  clock.advance(1_000)
  expect([await isTaken(there.take('ann')), await isTaken(here.take('ann'))]).toEqual([true, false])
})

test('nothing of it is kept for longer than it counts, and nobody can read whose it was', async () => {
  const { clock, db, here } = await two({ burst: 5, everyMs: MINUTE })
  for (const name of ['ann', 'ann', 'ben']) await here.take(name)
  const rows = () => db.selectFrom('attempts').selectAll().execute()
  expect(JSON.stringify(await rows())).not.toMatch(/ann|ben/)
  clock.advance(MINUTE)
  expect(await forgetExpired(db, 'attempts', clock.now(), 10)).toBe(1)
  clock.advance(MINUTE)
  expect(await forgetExpired(db, 'attempts', clock.now(), 10)).toBe(1)
  expect(await rows()).toEqual([])
})

test('a clock that is set back holds nobody', async () => {
  const { clock, here } = await two({ burst: 2, everyMs: MINUTE })
  await here.take('ann')
  await here.take('ann')
  expect(await isTaken(here.take('ann'))).toBe(false)
  clock.advance(-24 * 60 * MINUTE)
  await here.take('ann')
  await here.take('ann')
  expect(await isTaken(here.take('ann'))).toBe(false)
})

test('a clock that is a little behind, or a look that comes late, forgives nothing', async () => {
  const { clock, db, here } = await two({ burst: 5, everyMs: MINUTE })
  const behind = { now: () => clock.now() - 50, sleep: clock.sleep }
  const there = new Attempts({ db, clock: behind }, 'tests', { burst: 5, everyMs: MINUTE })
  for (let n = 0; n < 5; n += 1) await here.take('ann')
  expect([await isTaken(there.take('ann')), await isTaken(here.take('ann'))]).toEqual([false, false])
})

test.each([
  [1, 10],
  [2, 5],
  [4, 3],
])('of what a network may try each of %s processes lets %s pass', (processes, most) => {
  const clock = new ManualClock()
  const attempts = new NetworkAttempts(
    { clock, peers: { answering: processes } },
    { burst: 10, everyMs: MINUTE },
  )
  for (let n = 0; n < most; n += 1) attempts.take('192.0.2.1')
  expect(() => attempts.take('192.0.2.1')).toThrow(`in ${60 * processes} s`)
  attempts.giveBack('192.0.2.1')
  attempts.take('192.0.2.1')
  attempts.take('192.0.2.2')
})
