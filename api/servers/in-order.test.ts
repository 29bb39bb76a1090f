import { expect, test } from 'vitest'
import { InOrder } from './in-order.ts'

test('what is asked for one key is done in order, also after a failure, and other keys do not wait', async () => {
  const inOrder = new InOrder()
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
