import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import path from 'node:path'
import { migrate } from '../api/database/migrate.ts'
import { openPostgres } from '../api/database/postgres.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { cpuOf, cpuOfDatabase } from './cpu.ts'
import { openAccount, sellPlenty, smallest, type World } from './filled.ts'
import { create, serving, speed } from './serving.ts'
import { MEASURED, printingCostliest } from './statements.ts'

const PROCESSES = [1, 2, 4]
const ACCOUNTS = 64
const WARM_UP = 256
const CREATES = 1_024

/**
 * Measures the orders that PostgreSQL accepts, from many accounts and from one, through one, two and four processes.
 */
export async function benchCreates(): Promise<void> {
  const postgres = await startPostgres(MEASURED)
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-creates-'))
  try {
    const url = await postgres.create('berth')
    const db = openPostgres(url)
    await migrate(db)
    sellPlenty(folder)
    await creating({ folder, url, db, token: await openAccount(db), order: smallest() })
    await db.destroy()
  } finally {
    await postgres.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Measures accepted creates per second through a growing number of processes, and the CPU time of each part. */
export async function creating(world: World): Promise<void> {
  await creatingOf(world, `${ACCOUNTS} accounts`, ACCOUNTS)
  await creatingOf(world, 'one account', 1)
}

/** Each turn has accounts of its own: an order costs more the more servers its account has. */
async function creatingOf(world: World, whose: string, accounts: number): Promise<void> {
  const takings: Taking[] = []
  await printingCostliest(world.url, PROCESSES.length * (WARM_UP + CREATES), async () => {
    for (const processes of PROCESSES) {
      const tokens: string[] = []
      for (let at = 0; at < accounts; at += 1)
        tokens.push(await openAccount(world.db, `${at}-of-${accounts}-through-${processes}@example.com`))
      const taking = await serving(world, { apis: processes, workers: 1 }, (ports, pids) =>
        take(world, { ports: ports.slice(0, processes), pids, tokens }),
      )
      console.log(`creates of ${whose} through ${processes}: ${show(taking)}`)
      takings.push(taking)
    }
  })
  const [one, two, four] = takings
  if (!one || !two || !four) return
  const times = ({ perSecond }: Taking) => (perSecond / one.perSecond).toFixed(2)
  const most = (ALL_MS / sum(one.cpuMs) / one.perSecond).toFixed(2)
  console.log(
    `creates of ${whose}: two processes accept ${times(two)} times those of one, four ${times(four)} (target where cores allow: 1.5; all CPU of this machine would be enough for ${most})`,
  )
}

/** The CPU time that the cores offer in a second. */
const ALL_MS = 1000 * cpus().length
const PARTIES = ['processes', 'database', 'worker', 'bench'] as const

/** The users of CPU time. */
type Parties = Record<(typeof PARTIES)[number], number>

interface Taking {
  perSecond: number
  /** Per create. */
  cpuMs: Parties
  /** The share of the cores that nobody used. */
  idle: number
}

async function take(
  { url, order }: World,
  { ports, pids, tokens }: { ports: readonly number[]; pids: readonly number[]; tokens: readonly string[] },
): Promise<Taking> {
  const request = (n: number) => create(tokens[n % tokens.length] ?? '', order)
  await speed(ports, WARM_UP, 'HTTP/1.1 202', request)
  const used = async (): Promise<Parties> => {
    const [worker = 0, ...apis] = pids.map(cpuOf).reverse()
    const processes = apis.reduce((all, each) => all + each, 0)
    return { processes, database: await cpuOfDatabase(url), worker, bench: cpuOf(process.pid) }
  }
  const [before, idleBefore, began] = [await used(), idleMs(), performance.now()]
  const perSecond = await speed(ports, CREATES, 'HTTP/1.1 202', request)
  const [after, idleAfter, ms] = [await used(), idleMs(), performance.now() - began]
  const each = (party: keyof Parties) => (1000 * (after[party] - before[party])) / CREATES
  const cpuMs = {
    processes: each('processes'),
    database: each('database'),
    worker: each('worker'),
    bench: each('bench'),
  }
  return { perSecond, cpuMs, idle: (idleAfter - idleBefore) / ms / cpus().length }
}

function idleMs(): number {
  return cpus().reduce((all, { times }) => all + times.idle, 0)
}

const sum = (parties: Parties) => PARTIES.reduce((all, party) => all + parties[party], 0)

function show({ perSecond, cpuMs, idle }: Taking): string {
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`
  const shares = PARTIES.map(
    (party) =>
      `${party} ${cpuMs[party].toFixed(1)} ms each (${percent((perSecond * cpuMs[party]) / ALL_MS)})`,
  )
  const own = (perSecond * sum(cpuMs)) / ALL_MS
  const rest = `others ${percent(Math.max(0, 1 - own - idle))}, idle ${percent(idle)}`
  return `${perSecond.toFixed(0)}/s, ${(1000 / sum(cpuMs)).toFixed(0)} for each second of CPU; CPU and its share of ${cpus().length} cores: ${shares.join(', ')}; ${rest}`
}
