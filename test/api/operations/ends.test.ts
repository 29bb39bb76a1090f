import { expect, test } from 'vitest'
import { Ends } from '../../../api/operations/ends.ts'
import { cancelActive, insertOperation } from '../../../api/operations/operations.ts'
import { readOperation } from '../../../api/operations/store.ts'
import type { OperationTable } from '../../../api/operations/tables.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { countStatements } from '../../harness/statements.ts'
import { make } from '../harness/ordering.ts'

const OWNER = 'this process'

/** Operations on servers of their own, which this process carries out. */
async function running(t: TestApp, count: number): Promise<OperationTable[]> {
  const servers: string[] = []
  while (servers.length < count) servers.push(await make(t, { start_on_create: false }))
  const operations: OperationTable[] = []
  for (const subject_id of servers) {
    const subject = { subject_type: 'server', subject_id }
    const times = { now: t.clock.now(), deadlineAt: t.clock.now() + 1e9 }
    const more = {
      accountId: t.accountId,
      serverId: subject.subject_id,
      type: 'start',
      step: 'boot',
      data: {},
    }
    operations.push(await insertOperation(t.db, { ...more, subject, ...times }))
  }
  await t.db
    .updateTable('operations')
    .set({ status: 'running', lease_owner: OWNER, lease_until: t.clock.now() + 1e6 })
    .where('status', '=', 'pending')
    .execute()
  return operations
}

const endOf = (operation: OperationTable, write = async () => {}) => ({
  operation,
  outcome: { status: 'succeeded' as const },
  write,
})

async function bench(count: number) {
  const t = await testApp()
  await t.db.updateTable('accounts').set({ quotas: '{"servers":100,"cpu":100}' }).execute()
  const told: string[] = []
  const ended = async (_: unknown, { operation_id }: OperationTable) => void told.push(operation_id)
  const ends = new Ends({ db: t.db, clock: t.clock, owner: OWNER, ended })
  const operations = await running(t, count)
  const statusOf = async ({ operation_id }: OperationTable) =>
    (await readOperation(t.db, operation_id))?.status
  return { t, ends, operations, told, statusOf }
}

test('operations that end at the same time are written in few transactions', async () => {
  const { ends, operations, told, statusOf } = await bench(12)
  const statements = countStatements()
  const settled = operations.map((operation) => ends.settle(endOf(operation), { isShared: true }))
  expect(await Promise.all(settled)).toEqual(operations.map(() => true))
  const { transactions } = statements.sinceStart()
  statements.stop()
  expect(transactions).toBeLessThanOrEqual(4)
  expect(await Promise.all(operations.map(statusOf))).toEqual(operations.map(() => 'succeeded'))
  expect(told.sort()).toEqual(operations.map(({ operation_id }) => operation_id).sort())
})

test('an end that cannot be written, and a canceled operation, keep no other from its end', async () => {
  const { t, ends, operations, statusOf } = await bench(8)
  const [, , , broken, , canceled] = operations
  await cancelActive(t.db, { subject_type: 'server', subject_id: canceled?.subject_id ?? '' }, t.clock.now())
  const settled = operations.map((operation) => {
    const write = operation === broken ? () => Promise.reject(new Error('broken')) : undefined
    return ends.settle(endOf(operation, write), { isShared: true }).catch((error: Error) => error.message)
  })
  const results = operations.map((operation) => (operation === broken ? 'broken' : operation !== canceled))
  expect(await Promise.all(settled)).toEqual(results)
  const statuses = operations.map((operation) =>
    operation === broken ? 'running' : operation === canceled ? 'canceled' : 'succeeded',
  )
  expect(await Promise.all(operations.map(statusOf))).toEqual(statuses)
})
