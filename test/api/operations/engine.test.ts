import { randomUUID } from 'node:crypto'
import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createAccount } from '../../../api/accounts/accounts.ts'
import { systemClock } from '../../../api/clock.ts'
import type { Database, Queries } from '../../../api/database/database.ts'
import { record } from '../../../api/events/outbox.ts'
import { Engine, type EngineOptions } from '../../../api/operations/engine.ts'
import { cancelActive, insertOperation } from '../../../api/operations/operations.ts'
import {
  again,
  done,
  fail,
  next,
  type Outcome,
  type Procedure,
  runner,
  type Step as StepOf,
} from '../../../api/operations/procedure.ts'
import type { OperationTable } from '../../../api/operations/tables.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { ManualClock } from '../../harness/clock.ts'
import { testDatabase } from '../../harness/database.ts'

type Data = Record<string, unknown>
type Step = StepOf<Data>

const LEASE_MS = 30_000
const subjectOf = (serverId: string) => ({ subject_type: 'server', subject_id: serverId })

interface Bench {
  db: Database
  clock: ManualClock
  accountId: string
  operation(subjectId: string): Promise<OperationTable>
  read(operation: OperationTable): Promise<OperationTable>
  /** One of several processes that work on the same database. */
  engine(
    steps: Record<string, Step>,
    more?: Partial<EngineOptions> & { conclude?: Procedure<Data>['conclude'] },
  ): Engine
}

async function bench(): Promise<Bench> {
  const { db, drop } = await testDatabase()
  const clock = new ManualClock()
  const accountId = (await createAccount(db, clock, { email: 'a@example.com', name: 'A' })) ?? ''
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return {
    ...{ db, clock, accountId },
    operation: (subjectId) => {
      const now = clock.now()
      return insertOperation(db, {
        accountId,
        subject: subjectOf(subjectId),
        serverId: null,
        type: 'start',
        step: 'first',
        data: {},
        now,
        deadlineAt: now + 1e9,
      })
    },
    read: ({ operation_id }) =>
      db
        .selectFrom('operations')
        .selectAll()
        .where('operation_id', '=', operation_id)
        .executeTakeFirstOrThrow(),
    engine: (steps, { conclude = async () => async () => {}, ...more } = {}) => {
      const engine = new Engine({
        db,
        clock,
        log: pino({ level: process.env.BERTH_LOG ?? 'silent' }),
        ended: async () => {},
        peers: noPeers(),
        procedures: { server: { start: runner<Data>({ steps, conclude }) } },
        ...more,
      })
      onTestFinished(() => {
        for (const open of gates) open()
        return engine.stop()
      })
      return engine
    },
  }
}

/** Opens each gate: an engine of a test that failed would wait for its step. */
const gates: (() => void)[] = []

/** A step that ends when it is told to. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  gates.push(resolve)
  const entered = Promise.withResolvers<void>()
  const step: Step = async (_operation, signal) => {
    entered.resolve()
    await promise
    return signal.aborted ? again(0) : done({ by: 'the slow one' })
  }
  return { step, open: resolve, entered: entered.promise }
}

test('two processes on one database share the work, and never run one operation at the same time', async () => {
  const b = await bench()
  const running = new Set<string>()
  const walks = new Map<string, string[]>()
  const overlaps: string[] = []
  const workers = new Set<string>()
  const stepOf =
    (worker: string, name: string, result: (walk: string[]) => Awaited<ReturnType<Step>>): Step =>
    async ({ operation_id }) => {
      if (running.has(operation_id)) overlaps.push(operation_id)
      running.add(operation_id)
      workers.add(worker)
      const walk = walks.get(operation_id) ?? []
      walks.set(operation_id, [...walk, name])
      await new Promise(setImmediate)
      running.delete(operation_id)
      return result(walk)
    }
  const stepsOf = (worker: string) => ({
    first: stepOf(worker, 'first', (walk) => (walk.length < 4 ? again(0) : next('second', 50))),
    second: stepOf(worker, 'second', (walk) => (walk.length < 8 ? again(0) : done())),
  })
  const operations: OperationTable[] = []
  const servers = Array.from({ length: 12 }, () => randomUUID())
  for (const server of servers) operations.push(await b.operation(server))
  // Their clocks run: this is how they live in earnest.
  const engines = ['a', 'b'].map((worker) =>
    b.engine(stepsOf(worker), { clock: systemClock, concurrency: 3 }),
  )
  await b.db.updateTable('operations').set({ next_run_at: 0, deadline_at: Number.MAX_SAFE_INTEGER }).execute()
  await Promise.all(engines.map((engine) => engine.start({ isAlone: false })))
  const open = () =>
    b.db
      .selectFrom('operations')
      .select('operation_id')
      .where('status', 'in', ['pending', 'running'])
      .execute()
  await expect.poll(async () => (await open()).length, { timeout: 25_000 }).toBe(0)
  expect(overlaps).toEqual([])
  expect(workers).toEqual(new Set(['a', 'b']))
  for (const { operation_id } of operations)
    expect(walks.get(operation_id)).toEqual([...Array(5).fill('first'), ...Array(4).fill('second')])
})

test('the operation of a process that died is taken over when its lease has run out, not before', async () => {
  const b = await bench()
  const operation = await b.operation(randomUUID())
  const slow = gate()
  const dead = b.engine({ first: slow.step })
  const alive = b.engine({ first: async () => done({ by: 'the quick one' }) })
  expect(await dead.tick()).toBe(1)
  await slow.entered
  b.clock.advance(LEASE_MS - 1)
  expect(await alive.tick()).toBe(0)
  b.clock.advance(1)
  expect(await alive.tick()).toBe(1)
  await alive.settled()
  const after = await b.read(operation)
  expect(after).toMatchObject({ status: 'succeeded', lease_owner: null, lease_until: 0 })
  // The first one was not dead, only slow: what it says now is not heard any more.
  slow.open()
  await dead.settled()
  expect(await b.read(operation)).toEqual(after)
})

test('an operation that a slow process takes twice continues where it is, and repeats no step once it has ended', async () => {
  const b = await bench()
  const operation = await b.operation(randomUUID())
  const slow = gate()
  const walk: string[] = []
  const engine = b.engine({
    first: async () => {
      walk.push('first')
      return next('second', 50)
    },
    second: async (...step) => {
      walk.push('second')
      return slow.step(...step)
    },
  })
  await engine.tick()
  await slow.entered
  // It could not renew its lease in time, and takes the operation again: the row is still at its first step.
  b.clock.advance(LEASE_MS + 1)
  expect(await engine.tick()).toBe(1)
  slow.open()
  await engine.settled()
  expect(walk).toEqual(['first', 'second'])
  expect(await b.read(operation)).toMatchObject({ status: 'succeeded', lease_until: 0 })
})

test('a process that keeps working keeps its leases', async () => {
  const b = await bench()
  await b.operation(randomUUID())
  const slow = gate()
  const working = b.engine({ first: slow.step })
  const other = b.engine({ first: async () => fail('stolen', 'Another process took it.') })
  await working.start({ isAlone: false })
  await slow.entered
  for (let seconds = 0; seconds < 120; seconds += 10) {
    b.clock.advance(10_000)
    const lease = () => b.db.selectFrom('operations').select('lease_until').executeTakeFirstOrThrow()
    await expect.poll(async () => (await lease()).lease_until).toBe(b.clock.now() + LEASE_MS)
    expect(await other.tick()).toBe(0)
  }
  slow.open()
  await working.settled()
  expect((await b.db.selectFrom('operations').selectAll().executeTakeFirstOrThrow()).status).toBe('succeeded')
})

test('a process alone on the database continues a dead process’s operations at once', async () => {
  const b = await bench()
  const operation = await b.operation(randomUUID())
  const slow = gate()
  const dead = b.engine({ first: slow.step })
  await dead.tick()
  await slow.entered
  const alive = b.engine({ first: async () => done() })
  await alive.start({ isAlone: true })
  await expect.poll(async () => (await b.read(operation)).status).toBe('succeeded')
  slow.open()
  await dead.settled()
})

test.each(['the same process', 'another process'])(
  'the next operation of a server waits for the step of a canceled one, in %s',
  async (who) => {
    const b = await bench()
    const serverId = randomUUID()
    const log: string[] = []
    const slow = gate()
    const first = await b.operation(serverId)
    const step: Step = async (operation, signal) => {
      const name = operation.operation_id === first.operation_id ? 'canceled' : 'next'
      log.push(`${name} begins`)
      const result = name === 'canceled' ? await slow.step(operation, signal, undefined) : done()
      log.push(`${name} ends${signal.aborted ? ', told to give up' : ''}`)
      return result
    }
    const busy = b.engine({ first: step })
    const taker = who === 'the same process' ? busy : b.engine({ first: step })
    await busy.tick()
    await slow.entered
    expect(await cancelActive(b.db, subjectOf(serverId), b.clock.now())).toMatchObject({
      operation_id: first.operation_id,
    })
    const second = await b.operation(serverId)
    busy.canceled(first)
    expect([await busy.tick(), await taker.tick()]).toEqual([0, 0])
    slow.open()
    await busy.settled()
    expect(await taker.tick()).toBe(1)
    await taker.settled()
    expect(log).toEqual(['canceled begins', 'canceled ends, told to give up', 'next begins', 'next ends'])
    expect(await b.read(first)).toMatchObject({ status: 'canceled', lease_until: 0 })
    expect(await b.read(second)).toMatchObject({ status: 'succeeded', lease_until: 0 })
  },
)

test('the engine does not wait forever for a step whose process died', async () => {
  const b = await bench()
  const serverId = randomUUID()
  const slow = gate()
  const dead = b.engine({ first: slow.step })
  const first = await b.operation(serverId)
  await dead.tick()
  await slow.entered
  await cancelActive(b.db, subjectOf(serverId), b.clock.now())
  const second = await b.operation(serverId)
  const alive = b.engine({ first: async () => done() })
  b.clock.advance(LEASE_MS - 1)
  expect(await alive.tick()).toBe(0)
  b.clock.advance(1)
  expect(await alive.tick()).toBe(1)
  await alive.settled()
  expect((await b.read(second)).status).toBe('succeeded')
  slow.open()
  await dead.settled()
  expect(await b.read(first)).toMatchObject({ status: 'canceled', lease_until: 0 })
})

test('a second active operation of a server is refused by the database itself', async () => {
  const b = await bench()
  const serverId = randomUUID()
  await b.operation(serverId)
  await expect(b.operation(serverId)).rejects.toThrow(/unique/i)
})

test('operations on other subjects than servers are carried out by their own procedures', async () => {
  const b = await bench()
  const log: string[] = []
  const kind = (name: string) => ({
    start: runner<Data>({
      steps: {
        first: async ({ subject_id }) => {
          log.push(`${name} ${subject_id}`)
          return done()
        },
      },
      conclude: async () => async () => {},
    }),
  })
  const engine = b.engine({}, { procedures: { server: kind('server'), volume: kind('volume') } })
  const serverId = randomUUID()
  const now = b.clock.now()
  const operations = [
    await b.operation(serverId),
    // One id in two kinds: each has an operation of its own.
    await insertOperation(b.db, {
      accountId: b.accountId,
      subject: { subject_type: 'volume', subject_id: serverId },
      serverId: null,
      type: 'start',
      step: 'first',
      data: {},
      now,
      deadlineAt: now + 1e9,
    }),
  ]
  expect(await engine.tick()).toBe(2)
  await engine.settled()
  expect(log.sort()).toEqual([`server ${serverId}`, `volume ${serverId}`])
  for (const operation of operations) expect((await b.read(operation)).status).toBe('succeeded')
})

test('a step that fails is tried again after ever longer pauses, then the operation fails', async () => {
  const b = await bench()
  const operation = await b.operation(randomUUID())
  const outcomes: Outcome[] = []
  const at: number[] = []
  const engine = b.engine(
    {
      first: async () => {
        at.push(b.clock.now())
        throw new Error('a secret of the host')
      },
    },
    {
      conclude: async (_operation, outcome) => {
        outcomes.push(outcome)
        return async () => {}
      },
    },
  )
  for (let due: number | null = b.clock.now(); due !== null; due = await engine.nextDueAt()) {
    b.clock.advance(due - b.clock.now())
    await engine.tick()
    await engine.settled()
  }
  expect(at.map((time) => time - (at[0] ?? 0))).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000])
  expect(outcomes).toMatchObject([{ status: 'failed', code: 'internal_error' }])
  expect((await b.read(operation)).error_message).not.toContain('secret')
})

test('the end of an operation and what follows from it are written together, or tried again a little later', async () => {
  const b = await bench()
  const operation = await b.operation(randomUUID())
  let failures = 2
  const report = (name: string) => async (tx: Queries) => {
    const type = 'server.status_changed'
    await record(tx, [{ accountId: b.accountId, type, data: { name }, at: b.clock.now() }])
    if (failures-- > 0) throw new Error('the database hiccups')
  }
  const engine = b.engine(
    { first: async () => done() },
    { conclude: async () => report(`failures: ${failures}`) },
  )
  const reports = async () => {
    const own = b.db.selectFrom('events').select('data').where('type', '=', 'server.status_changed')
    return (await own.execute()).map(({ data }) => JSON.parse(data).name)
  }
  for (let attempt = 0; attempt < 2; attempt++) {
    expect(await engine.tick()).toBe(1)
    await engine.settled()
    expect([await reports(), (await b.read(operation)).status]).toEqual([[], 'running'])
    // Not at once: what fails in the same way each time must not spin.
    expect(await engine.tick()).toBe(0)
    b.clock.advance(((await engine.nextDueAt()) ?? 0) - b.clock.now())
  }
  expect(await engine.tick()).toBe(1)
  await engine.settled()
  expect([await reports(), (await b.read(operation)).status]).toEqual([['failures: 0'], 'succeeded'])
})

test('data that a step leaves to later ones outlives the process', async () => {
  const b = await bench()
  const operation = await b.operation(randomUUID())
  const first = b.engine({
    first: async () => next('second', 30, { token: randomUUID(), at: 5 }),
    second: async () => again(1_000),
  })
  await first.tick()
  await first.settled()
  expect(await b.read(operation)).toMatchObject({
    step: 'second',
    progress: 30,
    status: 'running',
    lease_until: 0,
  })
  const seen: Record<string, unknown>[] = []
  const second = b.engine({
    second: async ({ data }) => {
      seen.push(data)
      return done({ more: true })
    },
  })
  b.clock.advance(1_000)
  await second.tick()
  await second.settled()
  expect(seen).toEqual([{ token: expect.any(String), at: 5 }])
  expect(await b.read(operation)).toMatchObject({ status: 'succeeded', progress: 100 })
})

test('an operation that only another version knows is left to it until its deadline', async () => {
  const b = await bench()
  const servers = [randomUUID(), randomUUID(), randomUUID()] as const
  const known = await b.operation(servers[0])
  const otherStep = await b.operation(servers[1])
  const otherType = await b.operation(servers[2])
  const change = (operation: OperationTable, to: Partial<OperationTable>) =>
    b.db.updateTable('operations').set(to).where('operation_id', '=', operation.operation_id).execute()
  await change(otherStep, { step: 'second' })
  await change(otherType, { type: 'copy' })
  const older = b.engine({ first: async () => done() })
  expect(await older.tick()).toBe(1)
  await older.settled()
  expect((await b.read(known)).status).toBe('succeeded')
  expect([await older.tick(), await older.nextDueAt()]).toEqual([0, null])

  const steps = runner<Data>({ steps: { first: async () => done() }, conclude: async () => async () => {} })
  const newer = b.engine({}, { procedures: { server: { copy: steps } } })
  expect(await newer.tick()).toBe(1)
  await newer.settled()
  expect((await b.read(otherType)).status).toBe('succeeded')
  expect(await b.read(otherStep)).toMatchObject({ status: 'pending', attempt: 0 })

  const forgotten = await b.operation(servers[2])
  await change(forgotten, { type: 'copy' })
  b.clock.advance(1e9)
  expect(await older.tick()).toBe(2)
  await older.settled()
  for (const operation of [otherStep, forgotten])
    expect(await b.read(operation)).toMatchObject({ status: 'failed', error_code: 'operation_timeout' })
})
