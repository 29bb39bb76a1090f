import { expect, test } from 'vitest'
import { ApiError } from '../http/contract/problem.ts'
import { Passwords } from './passwords.ts'

test('a password is the one of its own hash alone, in whatever way its letters are written', async () => {
  const passwords = new Passwords()
  const hash = await passwords.hash('caf\u00e9 au lait')
  expect(hash).toMatch(/^scrypt\$15\$8\$3\$[\w+/=]{24}\$[\w+/=]{44}$/)
  expect(await passwords.matches('cafe\u0301 au lait', hash)).toBe(true)
  expect(await passwords.matches('cafe au lait', hash)).toBe(false)
  expect(await passwords.matches('', null)).toBe(false)
})

test('hashes that were made at another cost are still compared', async () => {
  const hash = await new Passwords({ logN: 4, r: 8, p: 1 }).hash('old')
  expect(await new Passwords({ logN: 5, r: 8, p: 1 }).matches('old', hash)).toBe(true)
})

test('who comes when many wait is told to come back, and those who wait get their turn', async () => {
  const passwords = new Passwords({ logN: 12, r: 8, p: 1 })
  const tries = await Promise.allSettled(Array.from({ length: 40 }, () => passwords.matches('x', null)))
  const refused = tries.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(8)
  for (const { reason } of refused as PromiseRejectedResult[]) expect(reason).toBeInstanceOf(ApiError)
  expect(await passwords.matches('x', null)).toBe(false)
})
