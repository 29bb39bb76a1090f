// A payment whose process dies after any statement of its way.
import { expect, test } from 'vitest'
import { PROVIDERS, withPayments } from './harness/payments.ts'

/** Longer than a key of a request is held by one that died. */
const LATER_MS = 61_000
const MOST_STATEMENTS = 500
/** PostgreSQL takes four times as long, and books by the same code. */
const STEP = process.env.BERTH_TEST_DATABASE === 'postgres' ? 4 : 1

/** The application, and a statement after which its work breaks off, once. */
async function withBreak() {
  const state = { left: 0 }
  const afterStatement = () => {
    state.left -= 1
    if (state.left === 0) throw new Error('killed')
  }
  const paid = await withPayments({ afterStatement })
  const { t, look } = paid
  /** Sends a request again until it is carried out, as the SDK does. */
  const send = async (call: typeof t.call, path: string, body: object, key: string) => {
    for (let tries = 0; tries < 4; tries += 1) {
      const reply = await call('POST', path, body, { 'idempotency-key': key })
      if (reply.status < 300) return reply.body
      t.clock.advance(LATER_MS)
    }
    return expect.fail(`${path} was never carried out`)
  }
  /** A look that breaks off, and those of the next start. */
  const looks = async () => {
    for (let tries = 0; tries < 3; tries += 1) await look(LATER_MS).catch(() => {})
  }
  return { ...paid, state, send, looks }
}

for (const provider of PROVIDERS)
  test(`broken off after any statement of its way, a payment by ${provider} is booked once, and its refund too`, async () => {
    const { t, shop, played, notify, state, send, looks } = await withBreak()
    let statement = 1
    for (let made = 1; statement < MOST_STATEMENTS; made += 1, statement += STEP) {
      state.left = statement
      const body = { amount_rub: '500', provider }
      const { payment_id } = await send(t.call, '/account/payments', body, `pay-${statement}`)
      await looks()
      expect(played.payments.size).toBe(made)
      played.last.status = 'succeeded'
      await notify(played.last).catch(() => {})
      await looks()
      const path = `/operator/payments/${payment_id}/refund`
      await send(shop, path, { amount_rub: '100', reason: 'Broken off' }, `refund-${statement}`)
      await looks()
      const isBroken = state.left <= 0
      state.left = 0
      expect(played.last.backs).toHaveLength(1)
      expect((await t.call('GET', '/account/balance')).body.balance).toBe(`${400 * made}.00`)
      if (!isBroken) break
    }
    expect(statement).toBeGreaterThan(40)
    expect(statement).toBeLessThan(MOST_STATEMENTS)
  })
