import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'

test('an operation that is not over by its deadline fails, and the machine itself decides the status', async () => {
  const t = await testApp()
  const id = await make(t)
  const hours = (count: number) => t.clock.advance(count * 3600_000)
  const expectTimeout = async (type: string, status: string) => {
    const [operation] = (await t.call('GET', `/servers/${id}/operations`)).body.items
    expect(operation).toMatchObject({
      type,
      status: 'failed',
      error: { code: 'operation_timeout' },
      finished_at: expect.any(String),
    })
    expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
      status,
      status_reason: 'operation_timeout',
      current_operation: null,
    })
  }
  await t.call('POST', `/servers/${id}/stop`)
  hours(1)
  await t.work()
  await expectTimeout('stop', 'running')
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  await t.call('POST', `/servers/${id}/start`)
  hours(2)
  await t.work()
  await expectTimeout('start', 'stopped')
  await t.call('PATCH', `/servers/${id}`, { cpu: 4 })
  hours(1)
  await t.work()
  await expectTimeout('resize', 'stopped')
  expect((await t.call('GET', '/account/me')).body.quotas.cpu.used).toBe(1)
  await t.call('DELETE', `/servers/${id}`)
  hours(2)
  await t.work()
  await expectTimeout('delete', 'error')
  // And a second try is free to succeed.
  await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).status).toBe(404)

  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  hours(2)
  await t.work()
  expect((await t.call('GET', `/servers/${server.server_id}`)).body).toMatchObject({
    status: 'error',
    status_reason: 'operation_timeout',
    started_at: null,
  })
})

test('progress only grows, and ends at 100', async () => {
  const t = await testApp({ simulator: { imageMs: 5_000, bootMs: 5_000 } })
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  const path = `/servers/${server.server_id}/operations/${server.current_operation.operation_id}`
  const seen: number[] = []
  for (;;) {
    await t.work()
    const { body } = await t.call('GET', path)
    seen.push(body.progress)
    if (body.finished_at) break
    t.clock.advance(500)
  }
  expect(seen).toEqual([...seen].sort((a, b) => a - b))
  expect([seen.at(0), seen.at(-1)]).toEqual([0, 100])
  expect(new Set(seen).size).toBeGreaterThan(5)
})

test('fifty clients, all that an account may have, that wait for one operation are all told at once', async () => {
  const t = await testApp({ simulator: { bootMs: 20_000 } })
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  const path = `/servers/${server.server_id}/operations/${server.current_operation.operation_id}?wait=60`
  const before = t.clock.now()
  const waiting = Promise.all(Array.from({ length: 50 }, () => t.call('GET', path)))
  await t.finish()
  const replies = await waiting
  expect(new Set(replies.map(({ status, body }) => `${status} ${body.status}`))).toEqual(
    new Set(['200 succeeded']),
  )
  expect(t.clock.now() - before).toBeLessThan(30_000)
})

test('a wait ends with its time, at a cancel, and at once where there is nothing to wait for', async () => {
  const t = await testApp({ simulator: { bootMs: 200_000 } })
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  await t.work()
  const path = `/servers/${server.server_id}/operations/${server.current_operation.operation_id}`
  expect((await t.call('GET', `${path}?wait=0`)).body.status).toBe('running')
  const patient = t.call('GET', `${path}?wait=10`)
  let isAnswered = false
  void patient.then(() => (isAnswered = true))
  // The clock stands until somebody turns it: the client waits, however long this loop takes.
  for (let turn = 0; turn < 9; turn++) {
    await t.call('GET', path)
    expect(isAnswered).toBe(false)
    t.clock.advance(1_000)
  }
  while (!isAnswered) {
    t.clock.advance(1_000)
    await t.call('GET', path)
  }
  expect((await patient).body).toMatchObject({ status: 'running', finished_at: null })

  const waiting = t.call('GET', `${path}?wait=60`)
  await t.call('GET', path)
  await t.call('DELETE', `/servers/${server.server_id}`)
  expect((await waiting).body.status).toBe('canceled')
  expect((await t.call('GET', `${path}?wait=60`)).body.status).toBe('canceled')
  for (const wait of ['-1', '61', 'x', '1.5', ''])
    expect((await t.call('GET', `${path}?wait=${wait}`)).status).toBe(422)
  expect(
    (await t.call('GET', `/servers/${NOBODY}/operations/${server.current_operation.operation_id}`)).status,
  ).toBe(404)
})

test('operations are listed newest first, and paged', async () => {
  const t = await testApp()
  const id = await make(t)
  for (const action of ['stop', 'start', 'reboot']) {
    await t.call('POST', `/servers/${id}/${action}`)
    await t.finish()
  }
  const types = async (query: string) =>
    (await t.call('GET', `/servers/${id}/operations${query}`)).body.items.map(
      (row: { type: string }) => row.type,
    )
  expect(await types('')).toEqual(['reboot', 'start', 'stop', 'create'])
  expect(await types('?limit=2&offset=1')).toEqual(['start', 'stop'])
  const page = await t.call('GET', `/servers/${id}/operations?limit=2`)
  expect(page.body.total).toBe(4)
  expect(page.headers.link).toContain(`</v1/servers/${id}/operations?limit=2&offset=2>; rel="next"`)
})
