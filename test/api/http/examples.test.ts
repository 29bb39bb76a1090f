// The examples of openapi.json, held against what the service replies.
import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { make, order } from '../harness/ordering.ts'

interface Sample {
  type?: string
  status: string
  progress?: number
  step?: string
  error?: object | null
  created_at: string
  updated_at?: string
  started_at: string | null
  finished_at?: string | null
  current_operation?: { type: string; status: string; progress: number } | null
}

/** The fields of an object that do not change between requests. */
function gist({ type, status, progress, step, error, started_at, finished_at, current_operation }: Sample) {
  const { operation_id: _, ...active } = { operation_id: '', ...current_operation }
  return { type, status, progress, step, error, started_at, finished_at, active }
}

test('the example of an accepted request is what the service replies to it, of that very operation', async () => {
  const t = await testApp()
  const { paths } = (await t.call('GET', '/openapi.json')).body
  const exampleOf = (method: string, path: string): Sample =>
    paths[path][method].responses['202'].content['application/json'].example
  const server = '/servers/{server_id}'
  const created = await t.call('POST', '/servers', await order(t.call))
  const id = created.body.server_id
  const replied: [example: Sample, reply: Sample][] = [[exampleOf('post', '/servers'), created.body]]
  await t.finish()
  const steps = [
    ['post', '/stop'],
    ['patch', '', { cpu: 2 }],
    ['post', '/start'],
    ['post', '/reboot'],
    ['delete', ''],
  ] as const
  for (const [method, path, body] of steps) {
    const verb = method.toUpperCase() as 'POST' | 'PATCH' | 'DELETE' // those three
    const reply = await t.call(verb, `/servers/${id}${path}`, body)
    expect(reply.status, `${method} ${path}`).toBe(202)
    replied.push([exampleOf(method, `${server}${path}`), reply.body])
    await t.finish()
  }
  for (const [example, reply] of replied) expect(gist(example)).toEqual(gist(reply))
  expect(replied[0]?.[0].updated_at).toBe(replied[0]?.[0].created_at)
})

test('the example of a refusal has the members that the service replies on that very route', async () => {
  const t = await testApp()
  const document = (await t.call('GET', '/openapi.json')).body
  const id = await make(t)
  const nothing = t.callAs(await t.makeToken(['account:read']))
  const wrong: unknown[] = []
  const hold = async (
    code: string,
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    call = t.call,
  ) => {
    const reply = await call(method, path.replace('{server_id}', id), body)
    expect(reply.body.code, `${method} ${path}`).toBe(code)
    const { $ref } = document.paths[path][method.toLowerCase()].responses[String(reply.status)]
    const { examples } =
      document.components.responses[$ref.split('/').at(-1)].content['application/problem+json']
    const example = document.components.examples[examples[code].$ref.split('/').at(-1)].value
    const own = ({ detail: _, instance: __, request_id: ___, ...rest }: Record<string, unknown>) => rest
    if (JSON.stringify(own(example)) !== JSON.stringify(own(reply.body)))
      wrong.push([own(example), own(reply.body)])
  }
  const server = '/servers/{server_id}'
  for (const path of ['/start', '/stop', '/reboot'])
    await hold('insufficient_scope', 'POST', `${server}${path}`, {}, nothing)
  await hold('insufficient_scope', 'GET', server, undefined, nothing)
  await hold('insufficient_scope', 'POST', '/account/projects', { name: 'x' }, nothing)
  await hold('insufficient_scope', 'GET', '/events', undefined, t.callAs(await t.makeToken(['write'])))
  await hold('server_state_conflict', 'POST', `${server}/start`)
  await hold('server_state_conflict', 'PATCH', server, { cpu: 2 })
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  await hold('server_state_conflict', 'POST', `${server}/stop`)
  await hold('server_state_conflict', 'POST', `${server}/reboot`)
  for (let count = 1; count < 50; count++) await t.call('POST', '/account/projects', { name: 'x' })
  await hold('quota_exceeded', 'POST', '/account/projects', { name: 'x' })
  expect(wrong).toEqual([])
})

test('the times of every example are consistent with its status', async () => {
  const t = await testApp()
  const document = (await t.call('GET', '/openapi.json')).body
  const samples: Sample[] = []
  const collect = (part: unknown) => {
    if (typeof part !== 'object' || part === null) return
    if ('created_at' in part && 'status' in part && 'started_at' in part) samples.push(part as Sample) // by its fields
    for (const value of Object.values(part)) collect(value)
  }
  const within = (part: unknown) => {
    if (typeof part !== 'object' || part === null) return
    for (const [key, value] of Object.entries(part))
      if (key === 'example' || key === 'examples') collect(value)
      else within(value)
  }
  within(document)
  expect(samples.length).toBeGreaterThan(8)
  for (const sample of samples) {
    const { status, created_at, updated_at = created_at, started_at, finished_at, current_operation } = sample
    expect(updated_at >= created_at && (started_at ?? created_at) >= created_at).toBe(true)
    if (finished_at === undefined) {
      expect(current_operation !== null).toBe(status.endsWith('ing') && status !== 'running')
      continue
    }
    expect(started_at === null, status).toBe(status === 'pending')
    expect(finished_at === null, status).toBe(status === 'pending' || status === 'running')
  }
})
