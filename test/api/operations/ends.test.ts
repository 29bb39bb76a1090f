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
  const work = { accountId, serverId: null, type: 'start', step: 'boot', data: { password: 'x' } }
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

test('operations that end at the same time are written in few transactions, and lose their data', async () => {
  const { ends, operations, told, rowOf, statusOf } = await bench(12)
  const statements = countStatements()
  const settled = operations.map((operation) => ends.settle(endOf(operation), { isShared: true }))
  expect(await Promise.all(settled)).toEqual(operations.map(() => true))
  const { transactions } = statements.sinceStart()
  statements.stop()
  expect(transactions).toBeLessThanOrEqual(4)
  expect(await Promise.all(operations.map(statusOf))).toEqual(operations.map(() => 'succeeded'))
  expect((await Promise.all(operations.map(rowOf))).map((row) => row?.data)).toEqual(Array(12).fill('{}'))
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

test('the consequences of ends in one transaction are written in the order of their subjects', async () => {
  const { ends, operations } = await bench(12)
  const written: string[] = []
  const settled = operations.map((operation, index) => {
    // The first two begin at once, each in a transaction of its own.
    const write = async () => void (index > 1 && written.push(operation.subject_id))
    return ends.settle(endOf(operation, write), { isShared: true })
  })
  await Promise.all(settled)
  expect(written).toHaveLength(10)
  expect(written).toEqual(written.toSorted())
})

test('an operation that fails beside others that succeed has its own result, and they have theirs', async () => {
  const { ends, operations, rowOf } = await bench(6)
  const outcome = { status: 'failed' as const, code: 'operation_timeout', message: 'It took too long.' }
  const settled = operations.map((operation, index) =>
    index === 4
      ? ends.settle({ operation, outcome, write: undefined }, { isShared: false })
      : ends.settle(endOf(operation), { isShared: true }),
  )
  expect(await Promise.all(settled)).toEqual(Array(6).fill(true))
  const rows = await Promise.all(operations.map(rowOf))
  const succeeded = { status: 'succeeded', progress: 100, error_code: null, error_message: null }
  const failed = { status: 'failed', progress: 0, error_code: outcome.code, error_message: outcome.message }
  expect(rows).toMatchObject(rows.map((_, index) => (index === 4 ? failed : succeeded)))
})

test('ends are written however many came before, and one that fails alone is not tried twice', async () => {
  const { ends, operations, statusOf } = await bench(5)
  let writes = 0
  const write = async () => {
    writes += 1
    throw new Error('broken')
  }
  for (const operation of operations) {
    await expect(ends.settle(endOf(operation, write), { isShared: true })).rejects.toThrow('broken')
    expect(await ends.settle(endOf(operation), { isShared: true })).toBe(true)
  }
  expect(writes).toBe(5)
  expect(await Promise.all(operations.map(statusOf))).toEqual(Array(5).fill('succeeded'))
})
