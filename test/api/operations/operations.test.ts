import { sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import { DriverError } from '../../../api/drivers/driver.ts'
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

test('a deletion is retried until it succeeds, since a silent host may have erased the machine already', async () => {
  const t = await testApp()
  const id = await make(t)
  const destroy = t.driver.destroy.bind(t.driver)
  const errors = [new DriverError('unavailable', 'the answer was lost'), new Error('broken')]
  const erasing = vi.spyOn(t.driver, 'destroy').mockImplementation(async (...given) => {
    await destroy(...given)
    throw errors[erasing.mock.calls.length % 2]
  })
  const { body: operation } = await t.call('DELETE', `/servers/${id}`)
  for (let minute = 0; minute < 180; minute += 1) {
    await t.work()
    t.clock.advance(60_000)
  }
  // A host that stays silent is asked rarely, but for as long as it takes.
  expect(erasing.mock.calls.length).toBeGreaterThan(150)
  expect(erasing.mock.calls.length).toBeLessThan(200)
  const { operation_id } = operation
  expect((await t.call('GET', `/servers/${id}/details`)).body).toMatchObject({
    status: 'deleting',
    status_reason: null,
    current_operation: { operation_id, type: 'delete' },
    allowed_actions: ['delete'],
  })
  expect((await t.call('DELETE', `/servers/${id}`)).body.operation_id).toBe(operation_id)
  erasing.mockRestore()
  await t.finish()
  expect((await t.call('GET', `/servers/${id}`)).status).toBe(404)
  expect((await t.call('GET', `/servers/${id}/operations/${operation_id}`)).body.status).toBe('succeeded')
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

test('progress never falls below the boot if the clock is set back while the guest boots', async () => {
  const t = await testApp({ simulator: { bootMs: 5_000 } })
  const asking = vi.spyOn(t.driver, 'ready').mockImplementationOnce(async () => {
    t.clock.advance(-7_200_000)
    return null
  })
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  await t.work()
  expect(asking).toHaveBeenCalled()
  const shown = await t.call('GET', `/servers/${server.server_id}`)
  expect(shown).toMatchObject({ status: 200, body: { current_operation: { progress: 60 } } })
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

test('the operations of all servers of an account are listed together, filtered and paged', async () => {
  const t = await testApp()
  const first = await make(t)
  const second = await make(t, { start_on_create: false })
  await t.call('POST', `/servers/${first}/stop`)
  const list = async (query: string) => {
    const { body } = await t.call('GET', `/operations${query}`)
    const shown = body.items.map((row: { type: string; subject_id: string }) => [row.type, row.subject_id])
    expect(body.total).toBe(shown.length)
    return shown
  }
  const [stop, create, earlier] = [
    ['stop', first],
    ['create', second],
    ['create', first],
  ]
  expect(await list('')).toEqual([stop, create, earlier])
  expect(await list('?status=pending')).toEqual([stop])
  expect(await list('?type=create')).toEqual([create, earlier])
  expect(await list(`?subject_id=${first}`)).toEqual([stop, earlier])
  expect(await list(`?subject_type=server&subject_id=${first}&type=create&status=succeeded`)).toEqual([
    earlier,
  ])
  expect(await list(`?subject_id=${NOBODY}`)).toEqual([])
  for (const query of ['type=create,stop', 'status=over', 'subject_type=planet', 'subject_id=x', 'limit=0'])
    expect((await t.call('GET', `/operations?${query}`)).status).toBe(422)

  const page = await t.call('GET', '/operations?type=create&limit=1')
  expect(page.body).toMatchObject({ total: 2, items: [{ subject_id: second }] })
  expect(page.headers.link).toContain('</v1/operations?type=create&limit=1&offset=1>; rel="next"')
})

test('an operation says what it is on, in every reply and event alike', async () => {
  const t = await testApp()
  const id = await make(t)
  const { body: stop } = await t.call('POST', `/servers/${id}/stop`)
  expect(stop).toMatchObject({ subject_type: 'server', subject_id: id, server_id: id })
  await t.finish()
  const ended = await t.call('GET', `/operations/${stop.operation_id}`)
  expect(ended).toMatchObject({ status: 200, body: { type: 'stop', status: 'succeeded', subject_id: id } })
  expect((await t.call('GET', `/servers/${id}/operations/${stop.operation_id}`)).body).toEqual(ended.body)
  const { body: events } = await t.call('GET', '/events')
  const told = events.items.findLast(({ type }: { type: string }) => type === 'operation.succeeded')
  expect(told.data).toEqual(ended.body)
})

test('a client can wait for an operation without reading its server', async () => {
  const t = await testApp({ simulator: { bootMs: 20_000 } })
  const { body: server } = await t.call('POST', '/servers', await order(t.call))
  const path = `/operations/${server.current_operation.operation_id}`
  expect((await t.call('GET', `${path}?wait=0`)).body.status).toBe('pending')
  const waiting = t.call('GET', `${path}?wait=60`)
  await t.finish()
  expect((await waiting).body).toMatchObject({ status: 'succeeded', progress: 100 })
  for (const wait of ['-1', '61', 'x']) expect((await t.call('GET', `${path}?wait=${wait}`)).status).toBe(422)
})

test('operations of another account do not exist, and reading them needs servers:read', async () => {
  const t = await testApp()
  const id = await make(t)
  const [operation] = (await t.call('GET', '/operations')).body.items
  const path = `/operations/${operation.operation_id}`
  const other = t.callAs(await t.makeToken(['read', 'write'], { accountId: await t.makeAccount() }))
  expect((await other('GET', path)).body.code).toBe('operation_not_found')
  expect((await other('GET', `${path}?wait=60`)).status).toBe(404)
  expect((await other('GET', '/operations')).body).toEqual({ items: [], total: 0 })
  expect((await other('GET', `/operations?subject_id=${id}`)).body).toEqual({ items: [], total: 0 })
  for (const unknown of [NOBODY, 'x'])
    expect((await t.call('GET', `/operations/${unknown}`)).body.code).toBe('operation_not_found')
  const blind = t.callAs(await t.makeToken(['account:read']))
  expect((await blind('GET', '/operations')).body.code).toBe('insufficient_scope')
  expect((await blind('GET', path)).body.code).toBe('insufficient_scope')
})

test('a server’s operations can be read for a week after it is deleted', async () => {
  const t = await testApp()
  const id = await make(t)
  const here = await make(t, { start_on_create: false })
  const { body: deletion } = await t.call('DELETE', `/servers/${id}`)
  await t.finish()
  const count = async () => (await t.call('GET', '/operations')).body.total
  const find = () => t.call('GET', `/operations/${deletion.operation_id}`)
  t.clock.advance(7 * 24 * 3600_000 - 1)
  expect([await count(), (await find()).body.status]).toEqual([3, 'succeeded'])
  expect((await t.call('GET', `/servers/${id}/operations`)).body.total).toBe(2)
  t.clock.advance(1)
  expect([await count(), (await find()).body.code]).toEqual([1, 'operation_not_found'])
  expect((await t.call('GET', '/operations')).body.items).toMatchObject([{ subject_id: here }])
  expect((await t.call('GET', `/servers/${id}/operations/${deletion.operation_id}`)).status).toBe(404)
})

test('operations of a type or status that only a newer version knows are still shown', async () => {
  const t = await testApp({ validateReplies: false })
  const [copied, paused] = [await make(t), await make(t)]
  const copying = { type: 'copy', status: 'running', finished_at: null, progress: 10 } as const
  await t.db.updateTable('operations').set(copying).where('server_id', '=', copied).execute()
  for (const [status, id] of [
    ['stopping', copied],
    ['paused', paused],
  ])
    await sql`UPDATE servers SET status = ${status} WHERE server_id = ${id}`.execute(t.db)
  const server = (id: string) => t.call('GET', `/servers/${id}`)
  expect((await server(copied)).body).toMatchObject({ current_operation: { type: 'copy' } })
  expect((await server(paused)).body).toMatchObject({ status: 'paused' })
  expect((await t.call('GET', '/servers')).body.items).toHaveLength(2)
  expect((await t.call('GET', '/operations')).body.items).toContainEqual(
    expect.objectContaining({ type: 'copy', server_id: copied }),
  )
})
