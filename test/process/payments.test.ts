import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type PlayedProviders, playedProviders } from '../harness/payment-providers.ts'
import { folder, run, type Service, serve } from './harness/berthd.ts'

/** The requests of a payment's way, in their order. */
const WAY = ['POST payments', 'GET payments', 'POST refunds', 'GET refunds']
const PAUSE_MS = 100
const MOST_TRIES = 600

/** Asks until the answer is there. @throws Error if the service dies, or never has it */
async function until<Answer>(ask: () => Promise<Answer | null | undefined | false>): Promise<Answer> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const answer = await ask()
    if (answer) return answer
    await sleep(PAUSE_MS)
  }
  throw new Error('it never came')
}

interface Shop {
  service: Service
  played: PlayedProviders
  operator: string
}

/** Leads each payment of the account from where it is to its end: paid, and refunded in part. */
async function finish({ service, played, operator }: Shop): Promise<void> {
  const notify = (id: string) =>
    fetch(`${new URL(service.address).origin}/payments/yookassa/notify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ object: { id } }),
    })
  const { items } = (await service.call('GET', '/account/payments')).body
  for (const { payment_id } of items) {
    const path = `/account/payments/${payment_id}`
    const headers = { authorization: `Bearer ${operator}` }
    const shown = async () => {
      const reply = await service.send('GET', `/operator/payments/${payment_id}`, undefined, headers)
      return (await reply.json()) as { provider_id: string | null; returns: object[] } // of an OperatedPayment
    }
    const id = await until(async () => (await shown()).provider_id)
    const theirs = played.payments.get(id)
    if (theirs) theirs.status = 'succeeded'
    await notify(id)
    await until(async () => (await service.call('GET', path)).body.status === 'succeeded')
    if ((await shown()).returns.length === 0)
      await service.send(
        'POST',
        `/operator/payments/${payment_id}/refund`,
        { amount_rub: '100', reason: 'Killed' },
        headers,
      )
    await until(async () => (await service.call('GET', path)).body.refunded_rub === '100.00')
  }
}

test('killed after each request of a payment’s way, the next start books each thing once', async () => {
  const played = await playedProviders()
  const data = folder()
  const env = { BERTH_YOOKASSA: played.urls.yookassa.href, BERTH_RATE_LIMITS: '1000000,1000000,1000000' }
  let service = await serve(data, env)
  const scopes = ['--scope', 'operator:read', '--scope', 'operator:money', '--cidr', '127.0.0.0/8']
  const made = await run(['operator', 'token', 'create', 'test', ...scopes], { BERTH_DATA: data })
  const operator = /berthop_\w+/.exec(made.stdout)?.[0] ?? ''
  const before = Number((await service.call('GET', '/account/balance')).body.balance)
  for (const [index, request] of WAY.entries()) {
    let isKilled = false
    played.carriedOut = (seen) => {
      const isOpened = played.payments.size > index // or it would be a later look at an earlier payment
      if (seen !== request || !isOpened || isKilled) return false
      isKilled = true
      return service.process.kill('SIGKILL')
    }
    await service.call('POST', '/account/payments', { amount_rub: '500' }).catch(() => {})
    if (!isKilled) await finish({ service, played, operator }).catch(() => {})
    expect([request, isKilled]).toEqual([request, true])
    service = await serve(data, env)
    await finish({ service, played, operator })
  }
  expect([...played.payments.values()].map(({ backs }) => backs.length)).toEqual(WAY.map(() => 1))
  const { body } = await service.call('GET', '/account/balance')
  expect(Number(body.balance) - before).toBe(400 * WAY.length)
}, 600_000)

test('killed in an automatic top-up, the next start charges once for each fall, within the monthly limit', async () => {
  const played = await playedProviders()
  const data = folder()
  const env = { BERTH_YOOKASSA: played.urls.yookassa.href, BERTH_RATE_LIMITS: '1000000,1000000,1000000' }
  let service = await serve(data, env)
  const scopes = ['--scope', 'operator:money', '--cidr', '127.0.0.0/8']
  const made = await run(['operator', 'token', 'create', 'test', ...scopes], { BERTH_DATA: data })
  const operator = /berthop_\w+/.exec(made.stdout)?.[0] ?? ''
  const { account_id } = (await service.call('GET', '/account/me')).body
  const balance = async () => Number((await service.call('GET', '/account/balance')).body.balance)
  const { payment_id } = (
    await service.call('POST', '/account/payments', { amount_rub: '500', save_method: true })
  ).body
  played.last.status = 'succeeded'
  const method = () => service.call('GET', '/account/payment_methods').then(({ body }) => body.items[0])
  const { payment_method_id } = await until(method)
  expect(payment_id).toBeTruthy()
  const line = await balance()
  const sums = { below_rub: line.toFixed(2), amount_rub: '300', monthly_limit_rub: '600' }
  const put = await service.send('PUT', '/account/auto_top_up', { ...sums, payment_method_id })
  expect(put.status).toBe(200)
  let falls = 0
  const fall = async () => {
    const amount = (await balance()) > line ? '300' : '100'
    falls += 1
    const body = { amount, type: 'correction', reason: 'Spent', reference: `fall-${falls}` }
    const headers = { authorization: `Bearer ${operator}` }
    const { status } = await service.send('POST', `/operator/accounts/${account_id}/debit`, body, headers)
    expect(status).toBe(200)
  }
  for (const request of ['POST payments', 'GET payments']) {
    const isKilled = new Promise<boolean>((resolve) => {
      played.carriedOut = (seen) => {
        if (seen !== request) return false
        played.carriedOut = () => false
        resolve(true)
        return service.process.kill('SIGKILL')
      }
    })
    await fall()
    expect(await isKilled).toBe(true)
    service = await serve(data, env)
    await until(async () => (await balance()) === line + 200)
  }
  expect(played.payments.size).toBe(3)
  await fall()
  const shown = () => service.call('GET', '/account/auto_top_up').then(({ body }) => body)
  await until(async () => (await shown()).waits_until !== null)
  expect(await shown()).toMatchObject({ is_on: true, charged_month_rub: '600.00' })
  expect([played.payments.size, await balance()]).toEqual([3, line - 100])
}, 600_000)
