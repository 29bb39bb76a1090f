import { expect, test } from 'vitest'
import { ManualClock } from '../../../test/harness/clock.ts'
import { InOrder } from './in-order.ts'

test('work for one key is done in order, also after a failure, and other keys do not wait', async () => {
  const inOrder = new InOrder(new ManualClock())
  const done: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = inOrder.run('a', async () => {
    await gate.promise
    done.push('first')
    throw new Error('no room')
  })
  const second = inOrder.run('a', async () => done.push('second'))
  const third = inOrder.run('a', async () => done.push('third'))
  await inOrder.run('b', async () => done.push('other'))
  gate.resolve()
  await expect(first).rejects.toThrow('no room')
  await Promise.all([second, third])
  await inOrder.run('a', async () => done.push('later'))
  expect(done).toEqual(['other', 'first', 'second', 'third', 'later'])
})

test('work that waited too long is refused, and not done for a client who has left', async () => {
  const clock = new ManualClock()
  const inOrder = new InOrder(clock)
  const gate = Promise.withResolvers<void>()
  const first = inOrder.run('a', () => gate.promise)
  const second = inOrder.run('a', async () => 'second')
  await Promise.resolve() // the first one begins
  clock.advance(11_000)
  const third = inOrder.run('a', async () => 'third')
  gate.resolve()
  await first
  await expect(second).rejects.toMatchObject({ code: '08006' })
  expect(await third).toBe('third')
})
