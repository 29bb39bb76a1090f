import { expect, test } from 'vitest'
import { route } from './route.ts'

test('a POST declares how it is repeated, or that it creates nothing; otherwise it does not compile', () => {
  const rest = {
    id: 'askTwice',
    path: '/twice',
    scope: 'servers:write',
    tag: 'Servers',
    summary: 'A route',
    description: 'Does it. Watch out.',
    reply: { 200: null },
    run: async () => undefined,
  } as const
  // @ts-expect-error: a repeat whose first attempt crashed would create a second object
  expect(route({ ...rest, method: 'POST' }).recover).toBeUndefined()
  expect(route({ ...rest, method: 'POST', makesNothing: true }).recover).toBeUndefined()
  expect(route({ ...rest, method: 'POST', recover: async () => undefined }).recover).toBeDefined()
  expect(route({ ...rest, method: 'PATCH' }).recover).toBeUndefined()
})
