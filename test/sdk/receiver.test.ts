import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { sign } from '../../api/webhooks/send.ts'
import { readWebhook, WebhookSignatureError } from '../../sdk/index.ts'

const secretOf = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`
const [secret, previous, foreign] = [secretOf('a'), secretOf('b'), secretOf('c')]
const challenge = { type: 'webhook.challenge', created_at: '', data: { webhook_id: 'w', challenge: 'x' } }

// Five minutes are too old, and a second must not pass meanwhile.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterAll(() => void vi.useRealTimers())

/** A message as the service sends it. */
function message(body: string, { secrets = [secret], secondsAgo = 0 } = {}) {
  const seconds = Math.floor(Date.now() / 1000) - secondsAgo
  const signatures = secrets.map((each) => sign(each, 'msg', seconds, body)).join(' ')
  const headers = { 'webhook-id': 'msg', 'webhook-timestamp': String(seconds) }
  return { body, headers: { ...headers, 'webhook-signature': signatures } }
}

test('a receiver reads what the service has signed, with the headers of Node or of a Request', async () => {
  const body = JSON.stringify(challenge)
  expect(await readWebhook({ secret, ...message(body) })).toEqual(challenge)
  const request = new Request('https://shop.example/hooks', { method: 'POST', ...message(body) })
  const { headers } = request
  expect(await readWebhook({ secret, headers, body: await request.text() })).toEqual(challenge)
  // While a secret is rotated, both sign.
  const both = message(body, { secrets: [secret, previous] })
  for (const known of [secret, previous])
    expect(await readWebhook({ secret: known, ...both })).toEqual(challenge)
})

test('a receiver refuses what is not signed with its secret, was changed, or is old', async () => {
  const body = JSON.stringify(challenge)
  const good = message(body)
  const changed = { ...good, body: body.replace('"x"', '"y"') }
  const older = {
    ...good.headers,
    'webhook-timestamp': String(Number(good.headers['webhook-timestamp']) - 60),
  }
  for (const bad of [
    message(body, { secrets: [foreign] }),
    changed,
    { body, headers: older },
    { body, headers: { ...good.headers, 'webhook-id': 'another' } },
    { body, headers: { ...good.headers, 'webhook-signature': 'v1,nonsense v2,AAAA' } },
    { body, headers: { ...good.headers, 'webhook-signature': undefined } },
    { body, headers: {} },
    message(body, { secondsAgo: 301 }),
    message(body, { secondsAgo: -301 }),
  ])
    await expect(readWebhook({ secret, ...bad })).rejects.toThrow(WebhookSignatureError)
  await expect(readWebhook({ secret: 'mistyped!', ...good })).rejects.toThrow(TypeError)
})
