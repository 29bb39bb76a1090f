import { randomUUID } from 'node:crypto'
import { expect, inject, type TestContext } from 'vitest'
import type { Call, Reply } from '../../harness/app.ts'
import { Schema, unconventional } from './schema.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    berthUrl: string
    berthToken: string
  }
}

/** The address of the API, and a token that holds every scope. All that this suite knows of a service. */
export const url = (process.env.BERTH_URL ?? inject('berthUrl')).replace(/(\/v1)?\/?$/, '/v1')
const token = process.env.BERTH_TOKEN ?? inject('berthToken')

/** An id that nothing has. */
export const NOBODY = '00000000-0000-7000-8000-000000000000'

/** Sends a request as it is: no token, no check of the reply. */
export async function send(
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
): Promise<Reply> {
  const reply = await fetch(`${url}${path}`, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  })
  const text = await reply.text()
  const isJson = reply.headers.get('content-type')?.includes('json') && text !== ''
  return {
    status: reply.status,
    body: isJson ? JSON.parse(text) : text,
    headers: Object.fromEntries(reply.headers),
  }
}

export const schema = new Schema((await send('GET', '/openapi.json')).body)

/** Calls as the holder of a token, or of none; each reply must be one that /openapi.json describes. */
export function callAs(bearer: string | null): Call {
  return async (method, path, body, headers = {}) => {
    const isText = typeof body === 'string'
    const reply = await send(method, path, {
      headers: {
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    })
    const exchange = { method, path: path.split('?')[0] ?? '', ...reply }
    const faults = [...schema.faultsOf(exchange), ...unconventional(reply.body)]
    for (const name of ['x-request-id', 'ratelimit-policy', 'ratelimit'])
      if (!reply.headers[name]) faults.push(`the header ${name} is missing`)
    expect(faults, `${method} ${path} → ${reply.status} ${JSON.stringify(reply.body)}`).toEqual([])
    return reply
  }
}

/** Calls with the token that the suite was given. */
export const call = callAs(token)

/** A name that no earlier run has used. */
export function fresh(word: string): string {
  return `${word}-${randomUUID().slice(0, 8)}`
}

/** The issues of a reply, as pairs of pointer and code. */
export function issues({ body }: Reply): [string, string][] {
  const errors: { pointer: string; code: string }[] = body.errors ?? []
  return errors.map(({ pointer, code }) => [pointer, code])
}

/** Makes something under /account, to be deleted after the test. */
export async function add(t: TestContext, path: string, body: unknown): Promise<Reply['body']> {
  const reply = await call('POST', `/account/${path}`, body)
  if (reply.status !== 201) throw new Error(`POST ${path}: ${JSON.stringify(reply.body)}`)
  const location = (reply.headers.location ?? '').replace(/^\/v1/, '')
  t.onTestFinished(async () => void (await call('DELETE', location)))
  return reply.body
}

/** A token with these scopes only, and what it can call. */
export async function holderOf(t: TestContext, scopes: readonly string[]): Promise<Call> {
  return callAs((await add(t, 'tokens', { name: fresh('scoped'), scopes })).token)
}

/** The body of a small server of the service's own catalogue. */
export async function order(more: Record<string, unknown> = {}): Promise<Reply['body']> {
  const [zone] = (await call('GET', '/zones')).body
  const place = { zone_slug: zone.zone_slug, cpu_type: zone.cpu_types[0] }
  const templates: Reply['body'][] = (await call('GET', '/templates')).body
  const template = templates.sort((a, b) => a.min_disk_gb - b.min_disk_gb)[0]
  const limits = (await call('GET', `/pricing/limits?${new URLSearchParams(place)}`)).body
  const disk_gb = Math.max(limits.disk_gb.min, template.min_disk_gb)
  const size = { cpu: limits.cpu.min, ram_mb: limits.ram_mb.min, disk_gb }
  const plan = 'preset_id' in more ? {} : { plan_type: 'custom', ...size }
  return { ...place, template_id: template.template_id, ...plan, ...more }
}

/** Orders a server, to be deleted after the test. @returns it as the reply showed it */
export async function make(t: TestContext, more: Record<string, unknown> = {}): Promise<Reply['body']> {
  const reply = await call('POST', '/servers', await order(more))
  if (reply.status !== 202) throw new Error(`POST /servers: ${JSON.stringify(reply.body)}`)
  t.onTestFinished(() => remove(reply.body.server_id))
  return reply.body
}

/** A server that was never started; @returns it when it is there */
export async function makeStopped(
  t: TestContext,
  more: Record<string, unknown> = {},
): Promise<Reply['body']> {
  const server = await make(t, { start_on_create: false, ...more })
  await settle(server)
  return (await call('GET', `/servers/${server.server_id}`)).body
}

/** Deletes a server, whatever state it is in, and waits until it is gone. */
export async function remove(serverId: string): Promise<void> {
  const path = `/servers/${serverId}`
  const reply = await call('DELETE', path)
  if (reply.body.code === 'delete_protected') {
    await call('PATCH', path, { delete_protection: false })
    return remove(serverId)
  }
  if (reply.status === 202) await ended(reply.body)
}

/** Waits by long poll for the end of an operation; @returns it */
export async function ended({ server_id, operation_id }: Reply['body']): Promise<Reply['body']> {
  const path = `/servers/${server_id}/operations/${operation_id}`
  const deadline = Date.now() + 240_000
  for (;;) {
    const { body } = await call('GET', `${path}?wait=60`)
    if (body.finished_at !== null) return body
    if (Date.now() > deadline) throw new Error(`${path} does not end: ${JSON.stringify(body)}`)
  }
}

/** Waits for the end of what is carried out on a server; it must succeed. */
export async function settle({ server_id, current_operation }: Reply['body']): Promise<void> {
  const operation = await ended({ server_id, ...current_operation })
  expect(operation).toMatchObject({ status: 'succeeded', progress: 100, error: null })
}

/** Asks for an action and waits for its success. */
export async function act(serverId: string, action: string, body?: unknown): Promise<void> {
  const reply = await call('POST', `/servers/${serverId}/${action}`, body)
  expect([action, reply.status, reply.headers.location]).toEqual([
    action,
    202,
    `/v1/servers/${serverId}/operations/${reply.body.operation_id}`,
  ])
  expect(await ended(reply.body)).toMatchObject({ type: action, status: 'succeeded', error: null })
}
