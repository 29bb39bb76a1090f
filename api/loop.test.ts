import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../test/harness/clock.ts'
import { Alarm, Loop, Pace } from './loop.ts'

/** Lets tasks that are due run. */
const settle = () => new Promise(setImmediate)

function looping(turn: (loop: Loop) => unknown = () => {}, more: { restMs?: () => number } = {}) {
  const clock = new ManualClock()
  const turns: number[] = []
  const begunAt = clock.now()
  const loop: Loop = new Loop({
    clock,
    log: pino({ level: 'silent' }),
    turn: async () => {
      turns.push(clock.now() - begunAt)
      await turn(loop)
    },
    failure: 'it failed',
    pauseMs: () => 100,
    ...more,
  })
  onTestFinished(() => loop.stop())
  const pass = async (ms: number) => {
    clock.advance(ms)
    await settle()
  }
  return { loop, turns, pass }
}

test('turns follow each other with a pause, even if a turn fails', async () => {
  const { loop, turns, pass } = looping(() => {
    throw new Error('this time')
  })
  loop.start()
  await settle()
  await pass(99)
  expect(turns).toEqual([0])
  await pass(1)
  await pass(100)
  await loop.stop()
  await pass(100)
  expect(turns).toEqual([0, 100, 200])
})

test('the first turn may wait for a pause, too', async () => {
  const { loop, turns, pass } = looping()
  loop.start({ isPauseFirst: true })
  await pass(99)
  expect(turns).toEqual([])
  await pass(1)
  expect(turns).toEqual([100])
})

test('a wake ends the pause, and a wake during a turn skips the next pause', async () => {
  let left = 2
  const { loop, turns, pass } = looping((own) => {
    if (left-- > 0) own.wake()
  })
  loop.start()
  await settle()
  expect(turns).toEqual([0, 0, 0])
  await pass(40)
  loop.wake()
  await settle()
  expect(turns).toEqual([0, 0, 0, 40])
})

test('one turn serves all wakes during a rest, and only a stop cuts the rest short', async () => {
  const { loop, turns, pass } = looping(() => {}, { restMs: () => 30 })
  loop.start()
  await settle()
  for (let news = 0; news < 10; news++) loop.wake()
  await pass(29)
  expect(turns).toEqual([0])
  await pass(1)
  expect(turns).toEqual([0, 30])
  await pass(30)
  await pass(70)
  expect(turns).toEqual([0, 30, 130])
  await loop.stop()
})

test('stopping waits for the current turn, but not for a pause', async () => {
  const taken = Promise.withResolvers<void>()
  const { loop } = looping(() => taken.promise)
  loop.start()
  let isStopped = false
  const stopping = loop.stop().then(() => {
    isStopped = true
  })
  await settle()
  expect(isStopped).toBe(false)
  taken.resolve()
  await stopping
})

test('an alarm that rang before the pause skips it, until the alarm is reset', async () => {
  const clock = new ManualClock()
  const alarm = new Alarm(clock)
  alarm.ring()
  await alarm.sleep(100)
  await alarm.sleep(100)
  alarm.reset()
  let isAwake = false
  const pause = alarm.sleep(100).then(() => {
    isAwake = true
  })
  await settle()
  expect(isAwake).toBe(false)
  alarm.ring()
  await pause
})

test('a pace lets a burst pass at once and the rest at its rate, whatever the clock does', () => {
  const clock = new ManualClock()
  const pace = new Pace(clock, { perSecond: 100, burst: 50 })
  expect([pace.take(25), pace.take(25), pace.take(25)]).toEqual([0, 0, 250])
  clock.advance(250)
  expect(pace.take(10)).toBe(100)
  clock.advance(60_000)
  expect(pace.take(50)).toBe(0)
  clock.advance(-3600_000)
  expect(pace.take(50)).toBeLessThanOrEqual(1_000)
})
