import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createAccount } from '../../../api/accounts/accounts.ts'
import type { Clock } from '../../../api/clock.ts'
import type { Database } from '../../../api/database/database.ts'
import { Ends } from '../../../api/operations/ends.ts'
import { cancelActive, insertOperation } from '../../../api/operations/operations.ts'
import { readOperation } from '../../../api/operations/store.ts'
import type { OperationTable } from '../../../api/operations/tables.ts'
import { ManualClock } from '../../harness/clock.ts'
import { testDatabase } from '../../harness/database.ts'
import { countStatements } from '../../harness/statements.ts'

const OWNER = 'this process'

/** Operations on servers of their own, which this process carries out. */
async function running(db: Database, clock: Clock, count: number): Promise<OperationTable[]> {
  const now = clock.now()
  const accountId = (await createAccount(db, clock, { email: 'a@example.com', name: 'A' })) ?? ''
  const operations: OperationTable[] = []
  const work = { accountId, serverId: null, type: 'start', step: 'boot', data: {} }
  while (operations.length < count) {
    const subject = { subject_type: 'server', subject_id: randomUUID() }
    const times = { now, deadlineAt: now + 1e9 }
    operations.push(await insertOperation(db, { ...work, subject, ...times }))
  }
  await db
    .updateTable('operations')
    .set({ status: 'running', lease_owner: OWNER, lease_until: now + 1e6 })
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
  const { db, drop } = await testDatabase()
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  const clock = new ManualClock()
  const told: string[] = []
  const ended = async (_: unknown, { operation_id }: OperationTable) => void told.push(operation_id)
  const ends = new Ends({ db, clock, owner: OWNER, ended })
  const operations = await running(db, clock, count)
  const rowOf = ({ operation_id }: OperationTable) => readOperation(db, operation_id)
  const statusOf = async (operation: OperationTable) => (await rowOf(operation))?.status
  return { db, clock, ends, operations, told, rowOf, statusOf }
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
  const { db, clock, ends, operations, statusOf } = await bench(8)
  const [, , , broken, , canceled] = operations
  await cancelActive(db, { subject_type: 'server', subject_id: canceled?.subject_id ?? '' }, clock.now())
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
