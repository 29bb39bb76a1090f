import { expect, test } from 'vitest'
import type { Reply } from '../harness/app.ts'
import { add, call, fresh, issues, url } from './harness/client.ts'

/** Lists the events since a given one, or all. */
async function eventsAfter(after?: string): Promise<Reply['body'][]> {
  const { body } = await call('GET', `/events?limit=200${after ? `&after=${after}` : ''}`)
  return body.items.length < 200
    ? body.items
    : [...body.items, ...(await eventsAfter(body.items.at(-1).event_id))]
}

test('changes are in GET /events at once, after the last event seen', async (t) => {
  const last = (await eventsAfter()).at(-1)?.event_id
  const project = await add(t, 'projects', { name: fresh('told') })
  const events = await eventsAfter(last)
  const [event] = events.filter(({ data }) => data.project_id === project.project_id)
  expect(event).toMatchObject({ type: 'project.created', data: project })
  expect(await eventsAfter(events.at(-1)?.event_id)).toEqual([])
})

test('GET /events/stream sends each event as it happens, from Last-Event-ID on', async (t) => {
  const last = (await eventsAfter()).at(-1)?.event_id
  const first = await add(t, 'projects', { name: fresh('streamed') })
  const bearer = (await add(t, 'tokens', { name: fresh('reader'), scopes: ['account:read'] })).token
  const hangUp = new AbortController()
  t.onTestFinished(() => hangUp.abort())
  const reply = await fetch(`${url}/events/stream`, {
    headers: { authorization: `Bearer ${bearer}`, ...(last ? { 'last-event-id': last } : {}) },
    signal: hangUp.signal,
  })
  expect(reply.headers.get('content-type')).toContain('text/event-stream')
  const second = await add(t, 'projects', { name: fresh('streamed') })
  let text = ''
  for await (const chunk of reply.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes(second.project_id)) break
  }
  const events = [...text.matchAll(/^id: (.+)\ndata: (.+)$/gm)].map(([, id, data]) => ({
    id,
    ...JSON.parse(data ?? ''),
  }))
  for (const event of events) expect(event.id).toBe(event.event_id)
  for (const { project_id } of [first, second])
    expect(events.filter(({ data }) => data.project_id === project_id)).toHaveLength(1)
})

test('GET /account/audit says which request changed what, by which token and from where', async (t) => {
  const reply = await call('POST', '/account/projects', { name: fresh('audited') })
  t.onTestFinished(async () => void (await call('DELETE', `/account/projects/${reply.body.project_id}`)))
  const { items } = (await call('GET', '/account/audit?limit=200')).body
  const [entry] = items.filter(
    ({ request_id }: Reply['body']) => request_id === reply.headers['x-request-id'],
  )
  expect(entry).toMatchObject({
    action: 'createProject',
    object_type: 'project',
    object_id: reply.body.project_id,
    token_id: (await call('GET', '/account/me')).body.token.token_id,
  })
  expect(entry.address).not.toBeNull()
})

test('a webhook is made, shown, changed and deleted; its secret is shown once', async (t) => {
  const body = { name: fresh('hook'), url: 'https://berth.invalid/in', event_types: ['webhook.test'] }
  const made = await call('POST', '/webhooks', body)
  expect(made).toMatchObject({ status: 201, body: { ...body, is_enabled: true, disabled_reason: null } })
  const { secret, ...shown } = made.body
  const path = `/webhooks/${shown.webhook_id}`
  t.onTestFinished(async () => void (await call('DELETE', path)))
  expect(made.headers.location).toBe(`/v1${path}`)
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const { verification: _, ...same } = shown
  expect((await call('GET', path)).body).toMatchObject(same)
  expect((await call('GET', '/webhooks')).body.items).toContainEqual(expect.objectContaining(same))
  expect((await call('PATCH', path, { name: 'renamed' })).body).toMatchObject({ ...same, name: 'renamed' })
  expect((await call('GET', `${path}/deliveries`)).body).toEqual({ items: [], total: 0 })
  expect((await call('DELETE', path)).status).toBe(204)
  expect((await call('GET', path)).body.code).toBe('webhook_not_found')
})

test('a webhook whose endpoint has not answered a challenge says why, and is sent no test', async (t) => {
  const body = { name: fresh('hook'), url: 'https://berth.invalid/in', event_types: ['webhook.test'] }
  const path = `/webhooks/${(await call('POST', '/webhooks', body)).body.webhook_id}`
  t.onTestFinished(async () => void (await call('DELETE', path)))
  const verification = async () => (await call('GET', path)).body.verification
  // Nobody has this name, and so nothing can come back.
  await expect.poll(async () => (await verification()).error).toMatch(/host/)
  expect(await verification()).toMatchObject({ status: 'pending', checked_at: expect.any(String) })
  expect((await call('POST', `${path}/test`)).body).toMatchObject({
    status: 409,
    code: 'webhook_not_verified',
  })
})

test('a webhook leads to the public internet only', async () => {
  const closed = [
    'http://127.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://169.254.169.254/',
  ]
  for (const address of [...closed, 'https://user:word@example.com/', 'ftp://example.com/']) {
    const body = { name: fresh('hook'), url: address, event_types: ['*'] }
    expect([address, issues(await call('POST', '/webhooks', body))]).toEqual([
      address,
      [['/url', 'invalid_format']],
    ])
  }
})
