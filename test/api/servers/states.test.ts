import { expect, test } from 'vitest'
import type { ServerStatus } from '../../../api/servers/tables.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { make } from '../harness/ordering.ts'

/** The id of the template that test servers are made from. */
const MICRO = '9ef5d402-7877-5f38-9a75-eb3232b25976'

/** The contract's table, as it stands there. S: server_state_conflict, L: operation_in_progress, X: rescue_conflict. */
const TABLE = `
| Status             | start | stop | stop by force | reboot | console | PATCH metadata | PATCH configuration | PATCH disk | rebuild | reset password | snapshot | rescue | unrescue | DELETE |
| creating           | L     | L    | L             | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| starting           | L     | L    | L             | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| resizing           | L     | L    | L             | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| running            | S     | 202  | 202           | 202    | 201     | 200            | S                   | 202        | 202     | 202            | 202      | 202    | X        | 202    |
| stopping           | L     | L    | 202           | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| rebooting          | L     | L    | 202           | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| rebuilding         | L     | L    | L             | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| restoring          | L     | L    | L             | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| rescuing           | L     | L    | 202           | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| unrescuing         | L     | L    | 202           | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| resetting_password | L     | L    | L             | L      | 201     | 200            | L                   | L          | L       | L              | L        | L      | L        | 202    |
| stopped            | 202   | S    | S             | S      | S       | 200            | 202                 | 202        | 202     | S              | 202      | 202    | X        | 202    |
| error              | 202   | 202  | 202           | 202    | S       | 200            | S                   | S          | 202     | S              | S        | 202    | X        | 202    |
| suspended          | 402   | S    | S             | S      | S       | 200            | S                   | S          | S       | S              | S        | S      | S        | 202    |
| deleting           | L     | L    | L             | L      | L       | L              | L                   | L          | L       | L              | L        | L      | L        | 202    |
`

const ACTIONS: Record<
  string,
  [method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: Record<string, unknown>]
> = {
  start: ['POST', '/start'],
  stop: ['POST', '/stop'],
  'stop by force': ['POST', '/stop', { force: true }],
  reboot: ['POST', '/reboot'],
  console: ['POST', '/console'],
  'PATCH metadata': ['PATCH', '', { description: 'new' }],
  'PATCH configuration': ['PATCH', '', { cpu: 2 }],
  'PATCH disk': ['PATCH', '', { disk_gb: 15 }],
  rebuild: ['POST', '/rebuild', { template_id: MICRO }],
  'reset password': ['POST', '/reset_password'],
  snapshot: ['POST', '/snapshots'],
  rescue: ['POST', '/rescue'],
  unrescue: ['POST', '/unrescue'],
  DELETE: ['DELETE', ''],
}

/** Which statuses a refusal names as those that would do. */
const ALLOWED: Record<string, string[]> = {
  start: ['stopped', 'error'],
  stop: ['running', 'error'],
  'stop by force': ['running', 'error'],
  reboot: ['running', 'error'],
  console: [
    'creating',
    'running',
    'starting',
    'stopping',
    'rebooting',
    'resizing',
    'rebuilding',
    'resetting_password',
    'restoring',
    'rescuing',
    'unrescuing',
  ],
  'PATCH configuration': ['stopped'],
  'PATCH disk': ['stopped'],
  rebuild: ['running', 'stopped', 'error'],
  'reset password': ['running'],
  snapshot: ['running', 'stopped'],
  rescue: ['running', 'stopped', 'error'],
  unrescue: ['running', 'stopped', 'error'],
}

/** Brings a new server there by the API where that can, else as an operator's hand would. */
async function serverIn(t: TestApp, status: ServerStatus): Promise<string> {
  const id = await make(t, {
    start_on_create: [
      'running',
      'stopping',
      'rebooting',
      'rebuilding',
      'restoring',
      'resetting_password',
      'rescuing',
      'unrescuing',
      'deleting',
    ].includes(status),
  })
  const ways: Partial<
    Record<ServerStatus, [method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: Record<string, unknown>]>
  > = {
    starting: ['POST', '/start'],
    stopping: ['POST', '/stop'],
    rebooting: ['POST', '/reboot'],
    resizing: ['PATCH', '', { cpu: 2 }],
    rebuilding: ['POST', '/rebuild', { template_id: MICRO }],
    resetting_password: ['POST', '/reset_password'],
    rescuing: ['POST', '/rescue'],
    unrescuing: ['POST', '/unrescue'],
    deleting: ['DELETE', ''],
  }
  if (status === 'unrescuing') {
    await t.call('POST', `/servers/${id}/rescue`)
    await t.finish()
  }
  if (status === 'restoring') {
    const { snapshot_id } = (await t.call('POST', '/snapshots', { server_id: id })).body
    await t.finish()
    ways.restoring = ['POST', '/restore', { snapshot_id }]
  }
  const way = ways[status]
  if (way) await t.call(way[0], `/servers/${id}${way[1]}`, way[2])
  else if (status === 'creating') await t.db.deleteFrom('operations').where('server_id', '=', id).execute()
  if (status === 'creating' || status === 'error' || status === 'suspended')
    await t.db.updateTable('servers').set({ status }).where('server_id', '=', id).execute()
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe(status)
  return id
}

const [head = [], ...rows] = TABLE.trim()
  .split('\n')
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )

test.each(rows)('a server that is %s accepts the actions of the contract, and no others', async (...row) => {
  const t = await testApp({ simulator: { bootMs: 1_000, shutdownMs: 1_000 } })
  const status = row[0] as ServerStatus // the table's first column
  for (const [at, action] of head.entries()) {
    if (at === 0) continue
    const id = await serverIn(t, status)
    const active = (await t.call('GET', `/servers/${id}`)).body.current_operation
    const [method, path, body] = ACTIONS[action] ?? ['DELETE', '']
    const reply =
      action === 'snapshot'
        ? await t.call(method, path, { server_id: id })
        : await t.call(method, `/servers/${id}${path}`, body)
    const said =
      (
        { server_state_conflict: 'S', operation_in_progress: 'L', rescue_conflict: 'X' } as Record<
          string,
          string
        >
      )[reply.body.code] ?? String(reply.status)
    expect([status, action, said]).toEqual([status, action, row[at]])
    if (said === 'S')
      expect(reply.body).toMatchObject({
        status: 409,
        current_status: status,
        allowed_statuses: ALLOWED[action],
      })
    if (said === 'L') {
      expect(reply.body).toMatchObject({ status: 409, operation_id: active?.operation_id ?? null })
      expect(reply.headers['retry-after']).toMatch(/^\d+$/)
    }
    if (said === '402') expect(reply.body.code).toBe('insufficient_balance')
    if (reply.status === 202 && status === 'deleting')
      expect(reply.body.operation_id).toBe(active.operation_id)
    // The replaced operation ends canceled, and every accepted one ends.
    if (reply.status === 202 && active && status !== 'deleting')
      expect((await t.call('GET', `/servers/${id}/operations/${active.operation_id}`)).body).toMatchObject({
        status: 'canceled',
      })
    await t.finish()
  }
})

test('the card of a server lists exactly the actions that it takes', async () => {
  const t = await testApp({ simulator: { bootMs: 1_000, shutdownMs: 1_000 } })
  const words = {
    start: 'start',
    stop: 'stop',
    reboot: 'reboot',
    console: 'console',
    update: 'PATCH metadata',
    resize: 'PATCH configuration',
    grow_disk: 'PATCH disk',
    rebuild: 'rebuild',
    reset_password: 'reset password',
    // It is possible whenever a rebuild is.
    restore: 'rebuild',
    rescue: 'rescue',
    unrescue: 'unrescue',
    snapshot: 'snapshot',
    delete: 'DELETE',
  }
  for (const row of rows) {
    const id = await serverIn(t, row[0] as ServerStatus) // the table's first column
    const details = (await t.call('GET', `/servers/${id}/details`)).body
    const expected = Object.entries(words).filter(([, column]) =>
      ['200', '201', '202'].includes(row[head.indexOf(column)] ?? ''),
    )
    expect([row[0], details.allowed_actions]).toEqual([row[0], expected.map(([word]) => word)])
    await t.finish()
  }
})

test('a server in error is brought back by start, stop and reboot, also when its machine was never made', async () => {
  const t = await testApp()
  for (const [action, after] of [
    ['start', 'running'],
    ['stop', 'stopped'],
    ['reboot', 'running'],
  ] as const) {
    for (let failure = 0; failure < 6; failure++) t.driver.failNext('define', new Error('no'))
    const id = await make(t)
    expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({
      status: 'error',
      status_reason: 'internal_error',
    })
    expect(await t.call('POST', `/servers/${id}/${action}`)).toMatchObject({ status: 202 })
    await t.finish()
    expect([action, (await t.call('GET', `/servers/${id}`)).body]).toMatchObject([
      action,
      { status: after, status_reason: null },
    ])
  }
})
