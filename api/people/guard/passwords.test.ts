import { createHook } from 'node:async_hooks'
import { expect, onTestFinished, test } from 'vitest'
import { strangerAt } from './password-queue.ts'
import { Passwords } from './passwords.ts'

const source = strangerAt('192.0.2.1')

test('a password matches only its own hash, in any Unicode form of its letters', async () => {
  const passwords = new Passwords()
  const hash = await passwords.hash('caf\u00e9 au lait', source)
  expect(hash).toMatch(/^scrypt\$15\$8\$3\$[\w+/=]{24}\$[\w+/=]{44}$/)
  expect(await passwords.matches('cafe\u0301 au lait', hash, source)).toBe(true)
  expect(await passwords.matches('cafe au lait', hash, source)).toBe(false)
  expect(await passwords.matches('', null, source)).toBe(false)
})

test('hashes with another cost still match', async () => {
  const hash = await new Passwords({ logN: 4, r: 8, p: 1 }).hash('old', source)
  expect(await new Passwords({ logN: 5, r: 8, p: 1 }).matches('old', hash, source)).toBe(true)
})

test.each([0, 1, 2, 3, 4, 5])(
  'no more than two passwords are hashed at once, even if another is sent %i ticks after one is done',
  async (ticks) => {
    const passwords = new Passwords({ logN: 4, r: 8, p: 1 })
    const attempts: Promise<boolean>[] = []
    const attempt = () => attempts.push(passwords.matches('x', null, source))
    let running = 0
    let most = 0
    const hashing = new Set<number>()
    const hook = createHook({
      init(id, type) {
        if (type !== 'SCRYPTREQUEST') return
        hashing.add(id)
        running += 1
        most = Math.max(most, running)
      },
      /** Called when the thread is done, before any code that waits for it runs. */
      before(id) {
        if (!hashing.delete(id)) return
        running -= 1
        let later = Promise.resolve()
        for (let tick = 0; tick < ticks; tick++) later = later.then(() => {})
        if (attempts.length < 10) void later.then(attempt)
      },
    }).enable()
    onTestFinished(() => void hook.disable())
    for (let index = 0; index < 4; index++) attempt()
    for (const tried of attempts) await tried
    expect(attempts).toHaveLength(10)
    expect(most).toBe(2)
  },
)
