import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Counts, FairMutex, FairQueue, inParallel, KeyedMutex, Semaphore } from './concurrency.ts'

/** Resolves after this many microtasks. */
async function ticks(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await null
}

/** Notes how many pieces of work run at once, and in which order they begin. */
function watched() {
  const begun: number[] = []
  let running = 0
  let most = 0
  const work =
    (id: number, length: number, isFailing = false) =>
    async () => {
      begun.push(id)
      running += 1
      most = Math.max(most, running)
      await ticks(length)
      running -= 1
      if (isFailing) throw new Error(`${id} failed`)
      return id
    }
  return { begun, work, most: () => most }
}

const works = fc.array(
  fc.record({ comesAt: fc.nat(12), length: fc.nat(6), isFailing: fc.boolean(), key: fc.nat(2) }),
  { maxLength: 12 },
)

test('a semaphore never admits more than its slots, serves callers in order, and survives failures', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), works, async (slots, given) => {
      const semaphore = new Semaphore(slots)
      const { begun, work, most } = watched()
      const came: number[] = []
      const results = given.map(async ({ comesAt, length, isFailing }, id) => {
        await ticks(comesAt)
        came.push(id)
        return semaphore.run(work(id, length, isFailing))
      })
      const settled = await Promise.allSettled(results)
      expect(most()).toBeLessThanOrEqual(slots)
      expect(begun).toEqual(came)
      expect(settled.map(({ status }) => status === 'rejected')).toEqual(given.map((one) => one.isFailing))
      expect(semaphore.isFull).toBe(false)
    }),
  )
})

test('callers that wait for a semaphore can be rejected, and its slot stays with its holder', async () => {
  const semaphore = new Semaphore(1)
  await semaphore.acquire()
  const waiting = [semaphore.acquire(), semaphore.run(async () => 'never')]
  const reason = new Error('busy')
  semaphore.rejectWaiting(reason)
  for (const rejected of waiting) await expect(rejected).rejects.toBe(reason)
  expect(semaphore.isFull).toBe(true)
  semaphore.release()
  expect(await semaphore.run(async () => 'next')).toBe('next')
})

test('work of one key never overlaps, whenever it comes, and other keys do not wait for it', async () => {
  await fc.assert(
    fc.asyncProperty(works, async (given) => {
      const mutex = new KeyedMutex()
      const keys = [watched(), watched(), watched()]
      const results = given.map(async ({ comesAt, length, isFailing, key }, id) => {
        await ticks(comesAt)
        const { work } = keys[key] ?? watched()
        return mutex.run(`key ${key}`, work(id, length, isFailing))
      })
      await Promise.allSettled(results)
      for (const { most } of keys) expect(most()).toBeLessThanOrEqual(1)
      expect(keys.flatMap(({ begun }) => begun).toSorted()).toEqual(given.map((_, id) => id).toSorted())
    }),
  )
  const mutex = new KeyedMutex()
  const held = Promise.withResolvers<void>()
  const first = mutex.run('a', () => held.promise)
  expect(await mutex.run('b', async () => 'other')).toBe('other')
  held.resolve()
  await first
})

test('a fair queue serves one item of each key in turn, and a key that is closed keeps its place', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.push(item.charAt(0), item)
  expect(queue.shift((key) => key !== 'a')?.item).toBe('b1')
  expect(queue.shift()).toEqual({ key: 'a', item: 'a1' })
  queue.delete('c', 'c1')
  queue.delete('c', 'c1')
  expect([queue.has('b'), queue.has('c')]).toEqual([false, true])
  expect([queue.shift(), queue.shift(), queue.shift()].map((next) => next?.item)).toEqual(['a2', 'c2', 'a3'])
  expect(queue.isEmpty).toBe(true)
  expect(queue.shift()).toBeUndefined()
})

test('a fair mutex does one piece of work at a time, of each key in turn, also after a failure', async () => {
  const mutex = new FairMutex()
  const { begun, work, most } = watched()
  const failing = mutex.run('a', async () => Promise.reject(new Error('no paper')))
  const rest = [1, 2, 3].map((id) => mutex.run('a', work(id, 2)))
  const other = mutex.run('b', work(9, 2))
  expect([mutex.callersOf('a'), mutex.callersOf('b')]).toEqual([4, 1])
  await expect(failing).rejects.toThrow('no paper')
  await Promise.all([...rest, other])
  expect(begun).toEqual([1, 9, 2, 3])
  expect([most(), mutex.callersOf('a')]).toEqual([1, 0])
  expect(await mutex.run('a', async () => 'free')).toBe('free')
})

test('counts by key add up, and never become negative', () => {
  const counts = new Counts()
  counts.add('a', 2)
  counts.add('b', 1)
  counts.add('a', -1)
  expect([counts.get('a'), counts.get('b'), counts.get('c')]).toEqual([1, 1, 0])
  counts.add('b', -5)
  counts.add('b', 1)
  expect(counts.get('b')).toBe(1)
})

test('work in parallel covers every item, as many at once as it may', async () => {
  const { begun, work, most } = watched()
  const items = Array.from({ length: 40 }, (_, id) => id)
  await inParallel(items, async (id) => void (await work(id, 3)()), 8)
  expect(begun).toEqual(items)
  expect(most()).toBe(8)
})
