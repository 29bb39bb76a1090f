import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { Webhook } from 'standardwebhooks'
import { onTestFinished } from 'vitest'
import type { TestApp } from '../../harness/app.ts'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** An endpoint's reply to a challenge. */
type Consent = (value: string, reply: ServerResponse, received: Received) => void

/** A server that receives the test's webhooks. It answers challenges, and counts them separately. */
export async function endpoint(
  answer: (received: Received, reply: ServerResponse) => void,
  consent: Consent = (value, reply) => void reply.end(value),
  {
    host = '127.0.0.1',
    port = 0,
    tls,
  }: { host?: string; port?: number; tls?: { cert: string; key: string } } = {},
) {
  const received: Received[] = []
  const challenges: Received[] = []
  const hear: RequestListener = (request, reply) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body }
      const { type, data } = JSON.parse(body)
      if (type === 'webhook.challenge') {
        challenges.push(one)
        return consent(data.challenge, reply, one)
      }
      received.push(one)
      answer(one, reply)
    })
  }
  const server = tls ? createTlsServer(tls, hear) : createServer(hear)
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the server has no address')
  return { received, challenges, url: `http://127.0.0.1:${address.port}`, port: address.port }
}

export const LOOPBACK = [{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }] as const

/** Sends everything that is due, and waits for deliveries in progress. */
export async function deliver({ app }: TestApp): Promise<void> {
  await app.events.relay()
  do await app.webhooks.settled()
  while ((await app.webhooks.tick()) > 0)
}

/** Sends what is due until the promise is settled. */
export async function delivering<T>(t: TestApp, promise: Promise<T>): Promise<T> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  promise.then(settle, settle)
  while (!isSettled) {
    await deliver(t)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return promise
}

/** Turns the clock until nothing waits to be sent. */
export async function deliverAll(t: TestApp): Promise<void> {
  for (;;) {
    await deliver(t)
    const { at } = await t.db
      .selectFrom('webhooks')
      .select((eb) => eb.fn.min<number | null>('next_run_at').as('at'))
      .executeTakeFirstOrThrow()
    if (at === null) return
    t.clock.advance(Math.max(1, at - t.clock.now()))
  }
}

export const hook = (t: TestApp, url: string, event_types = ['*']) =>
  t.call('POST', '/webhooks', { name: 'mine', url, event_types })
/** Creates a webhook whose endpoint has answered its challenge. */
export async function verifiedHook(t: TestApp, url: string, event_types = ['*']) {
  const { secret, webhook_id } = (await hook(t, url, event_types)).body
  await deliver(t)
  return { ...(await t.call('GET', `/webhooks/${webhook_id}`)).body, secret }
}
export const project = (t: TestApp, name: string) => t.call('POST', '/account/projects', { name })
export const deliveries = async (t: TestApp, id: string) =>
  (await t.call('GET', `/webhooks/${id}/deliveries?limit=200`)).body.items
/** The names of the projects that events were about. */
export const namesOf = (received: { body: string }[]) =>
  received.map(({ body }) => JSON.parse(body).data.name as string)

/**
 * Verifies a message with the library of Standard Webhooks.
 * @throws if it was not signed with the secret
 */
export function verify(
  { clock }: TestApp,
  { headers, body }: Pick<Received, 'headers' | 'body'>,
  secret: string,
): unknown {
  // The library compares the time of the message with the clock of this machine.
  const real = Date.now
  Date.now = () => clock.now()
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>) // three headers with one value each
  } finally {
    Date.now = real
  }
}
