import { setImmediate as settled } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { PasswordQueue, strangerAt } from './password-queue.ts'

/** About eleven a second, as measured with two threads on idle cores. */
const COMPARISON_MS = 90

/** A queue whose comparisons end one by one, when the test lets them. */
function watched() {
  let now = 0
  const queue = new PasswordQueue(() => now)
  const begun: string[] = []
  const refused: string[] = []
  const running: (() => void)[] = []
  const ask = (key: string, isKnown = false) => {
    const work = () =>
      new Promise<void>((end) => {
        begun.push(key)
        running.push(end)
      })
    queue.run({ key, isKnown }, work).catch(() => refused.push(key))
  }
  const compare = async (count: number) => {
    for (let at = 0; at < count; at++) {
      await settled()
      now += COMPARISON_MS
      running.shift()?.()
    }
    await settled()
  }
  /** The number of comparisons that begin before that of a caller. */
  const waitOf = async (key: string, isKnown = false) => {
    await settled()
    const before = begun.length
    ask(key, isKnown)
    for (let waited = 0; waited < 1_000 && !begun.includes(key) && !refused.includes(key); waited++)
      await compare(1)
    return refused.includes(key) ? 'refused' : begun.indexOf(key) - before
  }
  /** Each network has as many attempts waiting as its limit allows at once. */
  const attack = (networks: number, attempts = 20) => {
    for (let network = 0; network < networks; network++)
      for (let attempt = 0; attempt < attempts; attempt++) ask(`network ${network}`)
  }
  return { ask, attack, begun, refused, compare, waitOf, pass: (ms: number) => (now += ms) }
}

test('a person on a known network waits for at most one comparison, whatever strangers do', async () => {
  const { attack, waitOf } = watched()
  attack(1_000)
  expect(await waitOf('ann', true)).toBeLessThanOrEqual(1)
})

test('330 networks that begin at once delay a newcomer by at most one attempt each, and do not cause a refusal', async () => {
  const { attack, waitOf } = watched()
  attack(330)
  expect(await waitOf('newcomer')).toBeLessThanOrEqual(330)
})

test('330 networks that keep trying for an hour delay a newcomer by one comparison', async () => {
  const { attack, compare, pass, waitOf } = watched()
  attack(330)
  await compare(400)
  // Each network makes two attempts a minute, which together is as many as can be compared.
  for (let minute = 0; minute < 60; minute++) {
    attack(330, 2)
    pass(60_000)
    await compare(20)
  }
  for (const newcomer of ['a', 'b', 'c']) expect(await waitOf(newcomer)).toBeLessThanOrEqual(1)
})

test('1,000 people on known networks, whom an attacker may have signed up, leave every second turn to strangers', async () => {
  const { ask, waitOf } = watched()
  for (let person = 0; person < 1_000; person++) for (let n = 0; n < 3; n++) ask(`person ${person}`, true)
  expect(await waitOf('newcomer')).toBeLessThanOrEqual(2)
})

test('when too many wait, those of the network with the most are refused', async () => {
  const { ask, attack, begun, refused, compare } = watched()
  for (const neighbour of ['a', 'b', 'c']) ask(neighbour)
  attack(1, 1_000)
  await compare(500)
  expect(begun.filter((key) => !key.startsWith('network'))).toEqual(['a', 'b', 'c'])
  expect([new Set(refused), refused.length + begun.length]).toEqual([new Set(['network 0']), 1_003])
  expect(begun).toHaveLength(402)
})

test('an IPv6 site counts as one network, as its owner has 65,536 of them', () => {
  expect(strangerAt('2001:db8:1:2::3')).toEqual(strangerAt('2001:db8:1:ffff::9'))
  expect(strangerAt('2001:db8:1::1')).not.toEqual(strangerAt('2001:db8:2::1'))
  expect(strangerAt('192.0.2.1')).not.toEqual(strangerAt('192.0.2.2'))
})
