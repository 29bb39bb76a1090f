import { copyFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { createOperatorToken } from '../../api/operator/tokens.ts'
import type { Customer } from './acting.ts'
import { Chance } from './chance.ts'
import { brokenCredits } from './credits.ts'
import { bearer, Client, hint, outcomeOf, type World } from './customer.ts'
import { Disks, Hall } from './disks.ts'
import { drawAim, Faults } from './faults.ts'
import { Files } from './files.ts'
import { databases } from './folder.ts'
import { Host } from './host.ts'
import { Auditor } from './invariants.ts'
import { Office } from './office.ts'
import { findOffer, openAccount } from './opening.ts'
import { Operator } from './operator.ts'
import type { Drill, Drilled, Options, Outcome } from './outcome.ts'
import { Moves } from './owning.ts'
import { stepPair } from './pairs.ts'
import { freshPostgres, type Opened } from './postgres.ts'
import { type Installation, Process } from './process.ts'
import { DELIVERIES, Receivers } from './receivers.ts'
import { type ActName, acts, FIRST, HARMLESS } from './requests.ts'
import { Actor, Scheduler } from './scheduler.ts'
import { rule } from './seams.ts'
import { Sessions } from './sessions.ts'
import { type Blow, catalogOf, drawSetup, type Setup } from './setup.ts'
import { Steps } from './steps.ts'
import { strike } from './strikes.ts'
import { PAYMENTS, Till } from './till.ts'
import { favourites, TOUR_MS, tour } from './tour.ts'

const START = Date.parse('2026-11-20T12:00:00Z')
const HOUR = 3600_000
const QUARTER_MS = HOUR / 4
export const MONTH_MS = 30 * 24 * HOUR
/** The time after the end of all faults in which everything must settle. */
const SETTLE_MS = 30 * 60_000
/** A history takes twenty times as long with a real server, so it has few moments. */
const MOMENTS_ON_POSTGRES = 2
/** Every lease has run out after this time. */
const PAUSE_MS = 90_000

/** Simulates a month of an installation, as the seed determines it. */
export function live(seed: number, options: Options = {}): Promise<Outcome> {
  return within(seed, options, (history) => history.live())
}

/** Carries out one act with one fault at one of the times at which it could happen. */
export function drill(acted: Drill): Promise<Drilled> {
  const setup = {
    processes: 1,
    prices: 'priced',
    isPoor: false,
    checkEvery: 1,
    lazyMs: 500,
    saveEveryMs: 0,
  } as const
  return within(acted.seed, { setup }, (history) => history.drill(acted))
}

async function within<Result>(
  seed: number,
  options: Options,
  run: (history: History) => Promise<Result>,
): Promise<Result> {
  const newest = path.join(await databases(), 'newest.db')
  const file = path.join(path.dirname(newest), 'berth.db')
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  copyFileSync(newest, file)
  const opened = options.isOnPostgres ? await freshPostgres(file) : null
  const setup = { ...(opened ? { moments: MOMENTS_ON_POSTGRES } : {}), ...options.setup }
  const history = new History(seed, { file, opened }, { ...options, setup })
  rule(history.scheduler)
  try {
    return await run(history)
  } finally {
    await history.end()
    rule(null)
  }
}

function drawHall(scheduler: Scheduler, chance: Chance) {
  return {
    // A host measures durations correctly, whatever its clocks are set to.
    clock: { ...scheduler.clockOf(new Actor('host')), now: () => START + Math.floor(scheduler.elapsed()) },
    copyMs: chance.between(0, 20_000),
    bootMs: chance.between(0, 5_000),
    shutdownMs: chance.between(0, 3_000),
    imageMs: chance.between(0, 5_000),
    bootSlots: chance.pick([1, 2, 50]) ?? 2,
  }
}

class History {
  readonly #seed: number
  readonly #setup: Setup
  readonly #options: Options
  readonly scheduler: Scheduler
  readonly #faults: Faults
  readonly #simulator: Hall
  readonly #installation: Installation
  readonly #auditor: Auditor
  readonly #receivers: Receivers
  readonly #till: Till
  readonly #customers: Customer[] = []
  readonly #disks: Disks
  readonly #steps: Steps
  readonly #office = new Actor('operator')
  readonly #violations: string[] = []
  readonly #sometimes = new Map<string, number>()
  readonly #moves: string[] = []
  readonly #story: string[] = []
  readonly #secrets = new Set<string>()
  readonly #world: World
  #operator: Operator | null = null
  #started = 0
  #writes = 0

  constructor(seed: number, { file, opened }: { file: string; opened: Opened | null }, options: Options) {
    this.#seed = seed
    this.#options = options
    this.#setup = { ...drawSetup(seed), ...options.setup }
    const { rates, sampleSeconds, saveEveryMs, keepSuspendedMs, graceMs } = this.#setup
    const scheduler = new Scheduler(seed, START)
    this.scheduler = scheduler
    scheduler.lazyMs = this.#setup.lazyMs
    scheduler.onTrace = options.onTrace ?? null
    this.#faults = new Faults(rates)
    this.#simulator = new Hall(drawHall(scheduler, new Chance(seed, 4)))
    const host = new Host(scheduler, this.#faults, this.#simulator)
    host.onFault = (process, serverId, kind) => {
      const doing = this.#installation.processes.find(({ actor }) => actor === process)?.doing.get(serverId)
      if (doing) this.#count(stepPair(doing.type, doing.step, kind, 'during'))
    }
    this.#receivers = new Receivers(scheduler, this.#faults)
    const files = new Files(scheduler, this.#faults)
    scheduler.request = (options) =>
      files.serves(options) ? files.request(options) : this.#receivers.request(options)
    this.#till = new Till(scheduler, this.#faults, (what) => this.#broken(what))
    scheduler.fetch = this.#till.fetch
    this.#installation = {
      ...{ scheduler, faults: this.#faults, host, file, sessions: null },
      ...{ sampleSeconds, saveEveryMs, keepSuspendedMs, graceMs },
      catalog: catalogOf(this.#setup),
      databaseAwayUntil: Number.NEGATIVE_INFINITY,
      isAlone: this.#setup.processes === 1 && !opened,
      processes: [],
      onLog: (process, line) => this.#hear(process, line),
      onStep: (process, doing) => this.#steps.see(process, doing),
      onWrite: (tables) => this.#auditor.note(tables),
    }
    if (opened)
      this.#installation.sessions = new Sessions(this.#installation, opened, (point) => this.#count(point))
    this.#auditor = new Auditor(file, { now: scheduler.now, graceMs })
    this.#disks = new Disks(this.#simulator, this.#auditor, (what) => this.#broken(what))
    this.#steps = new Steps(this.#installation, (what) => this.#broken(what))
    host.onLate = (process) =>
      this.#installation.processes.find(({ actor }) => actor === process)?.kill(this.#installation)
    host.around = (name, given, effect) => this.#disks.around(name, given, effect)
    this.#world = {
      scheduler,
      processes: this.#installation.processes,
      broken: (what) => this.#broken(what),
      secrets: this.#secrets,
      sometimes: (point) => this.#count(point),
      serverOf: (id) => this.#auditor.serverOf(id),
      isCalm: this.#setup.isTour && !this.#setup.isRough,
      orders: { most: 0 },
      roleOf: (id) => this.#auditor.roleOf(id),
      moves: new Moves(scheduler.elapsed),
      ownerOf: (table, id) => this.#auditor.ownerOf(table, id),
    }
    this.#disks.hasMoved = (id) => this.#world.moves.has(id)
  }

  async end(): Promise<void> {
    for (const process of [...this.#installation.processes]) process.kill(this.#installation)
    this.#auditor.close()
    await this.#installation.sessions?.close()
  }

  async live(): Promise<Outcome> {
    const { scheduler } = this
    const { moments } = this.#setup
    try {
      await this.#begin()
      scheduler.onStep = (label) => {
        if (label.startsWith('answer of')) this.#check()
      }
      if (this.#setup.isTour) await this.#tour()
      else for (let at = 0; at < moments && this.#violations.length === 0; at += 1) await this.#moment(at)
      if (this.#violations.length === 0) await this.#settle()
    } catch (error) {
      this.#broken(`the history could not go on: ${error instanceof Error ? error.stack : error}`)
    }
    scheduler.note(`digest ${this.#auditor.fingerprint()}`)
    this.#countEnds()
    return {
      seed: this.#seed,
      hash: scheduler.digest,
      violations: this.#violations,
      days: scheduler.elapsed() / (24 * HOUR),
      steps: scheduler.steps,
      moves: this.#moves,
      sometimes: this.#sometimes,
      story: this.#story,
    }
  }

  async drill({ acts: names, fault, at }: Drill): Promise<Drilled> {
    let said = ''
    try {
      await this.#begin()
      for (const customer of this.#customers) customer.recent = 1
      for (const [place, what] of names.entries()) {
        if (place === names.length - 1) this.#aim(fault, at)
        said = await this.#drillAct(what, new Chance(this.#seed, 9, place))
      }
      const hasHit = this.#faults.hasHit
      await this.#settle()
      return { violations: this.#violations, hasHit, said }
    } catch (error) {
      return {
        violations: [`the history could not go on: ${error instanceof Error ? error.stack : error}`],
        hasHit: true,
        said,
      }
    }
  }

  /** Lets a fault happen at its given opportunity. Each crossing of a process is one for a kill or a pause. */
  #aim(fault: Drill['fault'], at: number, pauseMs = PAUSE_MS): void {
    this.#faults.aim(fault, at)
    this.scheduler.onChore = (actor, label) => {
      if ((fault !== 'kill' && fault !== 'pause') || label === 'sleep' || label === 'timer') return
      const process = this.#installation.processes.find((one) => one.actor === actor)
      // PostgreSQL ends the transaction of a paused process; SQLite would make all others wait for it.
      const locks = fault === 'pause' && process?.isWriting
      if (!process || locks || !this.#faults.happens(fault)) return
      this.#countStop(process, fault)
      if (fault === 'kill') process.kill(this.#installation)
      else actor.pausedUntil = this.scheduler.elapsed() + pauseMs
    }
  }

  /** Carries out an act and its operations, and restarts the process if it was killed. */
  async #drillAct(what: ActName, chance: Chance): Promise<string> {
    const { scheduler } = this
    const customer = this.#customers[0] as Customer // there are at least two
    const acting = scheduler.as(new Actor('customer'), () => acts[what]({ customer, chance, keep: () => {} }))
    await this.#attend(acting, what)
    return outcomeOf(await acting)
  }

  /** Waits for an act and its operations, and replaces processes that die. */
  async #attend(acting: Promise<unknown>, what: string): Promise<void> {
    let isOver = false
    const end = () => {
      isOver = true
    }
    acting.then(end, end)
    for (let passed = 0; passed < HOUR; passed += 1_000) {
      await this.scheduler.run(1_000)
      await this.#revive()
      if (isOver && !this.#auditor.isBusy) return
    }
    throw new Error(`${what} did not end`)
  }

  // ---- the beginning ----

  async #begin(): Promise<void> {
    const { scheduler } = this
    for (let at = 0; at < this.#setup.processes; at += 1) await this.#start()
    const setUp = async () => {
      const process = this.#installation.processes[0] as Process // it was just started
      const opening = { process, world: this.#world, setup: this.#setup, till: this.#till }
      for (let at = 0; at < this.#setup.customers; at += 1)
        this.#customers.push(await openAccount(opening, at))
      await findOffer(this.#customers, new Chance(this.#seed))
      const scopes = ['operator:read', 'operator:write', 'operator:money'] as const
      const { value } = await createOperatorToken(process.db, scheduler.clockOf(this.#office), {
        ...{ name: 'ops', scopes, cidrs: ['127.0.0.1/32'], createdBy: 'simulation' },
        expiresAt: scheduler.now() + 10 * MONTH_MS,
      })
      this.#secrets.add(value)
      const client = new Client(this.#world, 'operator', bearer(value))
      this.#operator = new Operator(client, new Office(client, this.#world, this.#auditor))
    }
    await scheduler.until(scheduler.as(this.#office, setUp), HOUR, 'the set-up')
    for (const [at, customer] of this.#customers.entries())
      Object.assign(customer, { others: this.#customers[(at + 1) % this.#customers.length]?.known })
  }

  async #start(): Promise<void> {
    this.#started += 1
    const starting = Process.start(this.#installation, `p${this.#started}`)
    const was = this.#faults.isOn
    // A supervisor restarts a process that can't start, so only running processes matter.
    this.#faults.isOn = false
    this.#installation.databaseAwayUntil = Number.NEGATIVE_INFINITY
    await this.scheduler.until(starting, HOUR, 'the start of a process')
    this.#faults.isOn = was
  }

  // ---- what happens ----

  /** Lets time pass in which nothing runs. A delayed call arrives first, because delays have a limit. */
  async #pass(ms: number): Promise<void> {
    const { scheduler } = this
    const leftMs = () => this.#installation.host.lateUntil - scheduler.elapsed()
    if (leftMs() > PAUSE_MS) {
      // Others take over the work of the dead process; then nothing happens until the call arrives.
      await scheduler.run(PAUSE_MS)
      scheduler.jump(Math.max(0, leftMs() - this.#roundMs))
    }
    if (leftMs() > 0) await scheduler.run(leftMs())
    scheduler.jump(ms)
  }

  /** Lets some hours pass, and then everything happen at once for some seconds. */
  async #moment(at: number): Promise<void> {
    const { scheduler } = this
    const { moments, moves } = this.#setup
    const chance = new Chance(this.#seed, 5, at)
    scheduler.reseed(this.#seed, 6, at)
    this.#faults.reseed(this.#seed, 7, at)
    this.#faults.isOn = chance.is(0.85)
    await this.#pass(chance.is(0.2) ? chance.between(1, 120_000) : chance.below((2 * MONTH_MS) / moments))
    this.#steps.unsettle()
    await this.#revive()
    const count = this.#moves.length
    // Moves that hit the same server find more mistakes than unrelated ones.
    const isNarrow = chance.is(0.4)
    for (const customer of this.#customers) customer.recent = isNarrow ? 1 : 3
    const doing = Array.from({ length: chance.between(1, moves) }, (_, place) =>
      this.#move(at, place, chance.below(isNarrow ? 3_000 : 8_000)),
    )
    // A shrunk history skips idle time.
    if (this.#options.only && this.#moves.length === count) return
    const most = chance.pick([5_000, 15_000, 45_000]) ?? 15_000
    // Customers wait for their answers before the next hours pass, but not always.
    if (!chance.is(0.7)) return scheduler.run(most)
    await this.#runWhileBusy(most, doing)
    await this.#calm(Promise.all(doing))
  }

  /** Lets a span of time pass; the rest is skipped once nothing is in progress and each loop has had a turn. */
  async #runWhileBusy(most: number, doing: readonly Promise<void>[]): Promise<void> {
    let isOver = false
    void Promise.all(doing).then(() => {
      isOver = true
    })
    for (let left = most; left > 0 && (left === most || !isOver || this.#auditor.isBusy); ) {
      const span = Math.min(left, left === most ? this.#roundMs : 2_500)
      await this.scheduler.run(span)
      left -= span
    }
  }

  /** The time in which each loop that is not blocked has had a turn. */
  get #roundMs(): number {
    return 5_000 + this.#setup.lazyMs
  }

  /** Carries out acts one after the other; before each, another customer tries it on objects that are not theirs. */
  async #tour(): Promise<void> {
    const { scheduler } = this
    const [customer, stranger] = [this.#customers[0], this.#customers.at(-1)] as [Customer, Customer] // at least two
    for (const [place, what] of tour.entries()) {
      const name = `t.${place}`
      if (this.#violations.length > 0) return
      if (this.#options.only && !this.#options.only.has(name)) continue
      this.#moves.push(name)
      const chance = new Chance(this.#seed, 10, place)
      if (what === 'night') {
        // The next act coincides with the work that becomes due here.
        await this.#pass(25 * HOUR)
        this.#steps.unsettle()
        continue
      }
      const carryOut = async () => {
        if (!(what in acts)) return this.#strike(name, what as Exclude<Blow, 'none'>, chance, customer) // it is no act
        const act = { what: what as ActName, customer, isHostile: false } // it is one of them
        const by = (client = customer.client) =>
          this.#carryOut(name, chance, { ...act, customer: { ...customer, client } })
        await this.#carryOut(name, chance, { ...act, customer: stranger, isHostile: true })
        await by(customer.members.at(-1))
        await by(what === 'change_role' || what === 'remove_member' ? customer.members[0] : undefined)
      }
      if (what === 'day') await this.#day(chance)
      else if (what === 'quarter') await this.#pass(QUARTER_MS)
      else if (this.#setup.isRough) await this.#roughly(carryOut(), what, chance)
      else await scheduler.until(carryOut(), HOUR, what)
      for (let left = TOUR_MS; left === TOUR_MS || this.#auditor.isBusy; left -= 3_000) {
        if (left <= 0) return this.#broken(`every operation ends: ${what} did not`)
        await scheduler.run(this.#auditor.isBusy ? 3_000 : 1_000 + this.#setup.lazyMs)
      }
      // After a fault, the host may need some time to match the rows again.
      const atRest = this.#setup.isRough ? [] : await this.#disks.brokenAtRest()
      const broken = [...this.#auditor.broken(), ...this.#brokenDeliveries(), ...atRest]
      for (const each of broken) this.#broken(`after ${what}: ${each}`)
    }
  }

  /** Lets a day pass, and then does the due work: in rough tours with one fault, in others until all is at rest. */
  async #day(chance: Chance): Promise<void> {
    const { scheduler } = this
    await this.#pass(25 * HOUR)
    this.#steps.unsettle()
    if (this.#setup.isRough)
      return this.#roughly(scheduler.cross(new Actor('day'), 'morning', 10_000), 'day', chance)
    const look = async () => [...this.#auditor.brokenAtRest(), ...(await this.#disks.brokenAtRest())]
    await this.#rest(15_000, look, 'after a day')
  }

  /** Lets time pass until all promises hold. One that never holds although everything should have settled is broken. */
  async #rest(everyMs: number, look: () => Promise<string[]>, when: string): Promise<void> {
    let broken: string[] = []
    for (let passed = 0; passed < SETTLE_MS; passed += everyMs) {
      await this.scheduler.run(everyMs)
      broken = await look()
      if (broken.length === 0) return
    }
    for (const each of broken) this.#broken(`${when}: ${each}`)
  }

  /** Lets one fault happen during an act. */
  async #roughly(acting: Promise<void>, what: (typeof tour)[number], chance: Chance): Promise<void> {
    const { fault, at } = drawAim(chance, favourites[what])
    // Some of these processes die just after others have taken over.
    const pauseMs = chance.is(0.5) ? chance.between(9_000, 18_000) : chance.between(30_000, PAUSE_MS)
    this.#aim(fault, at, pauseMs)
    await this.#attend(acting, what)
    if (this.#faults.hasHit) this.#tell('fault', `${fault} at ${at} of ${what}`)
    this.#faults.rest()
    await acting
  }

  async #calm(doing: Promise<unknown>): Promise<void> {
    await this.scheduler.until(doing, 10 * 60_000, 'customers').catch(() => undefined)
  }

  /** Replaces processes that died. */
  async #revive(): Promise<void> {
    while (this.#installation.processes.length < this.#setup.processes) await this.#start()
  }

  async #move(moment: number, place: number, delayMs: number): Promise<void> {
    const name = `${moment}.${place}`
    const chance = new Chance(this.#seed, 8, moment, place)
    const actor = new Actor(`move ${name}`)
    const blow = chance.weighted(this.#setup.blows)
    if (this.#options.only && !this.#options.only.has(name)) return
    this.#moves.push(name)
    await this.scheduler.cross(actor, 'begin', delayMs)
    await this.scheduler.as(actor, async () => {
      if (blow === 'none') await this.#act(name, chance)
      else await this.#strike(name, blow, chance)
    })
  }

  async #act(name: string, chance: Chance): Promise<void> {
    const customer = chance.pick(this.#customers) as Customer // there are at least two
    // An installation begins with orders.
    const what = name.startsWith('0.') && chance.is(0.5) ? 'order' : chance.weighted(this.#setup.acts)
    const isHostile = chance.is(0.05)
    const member = chance.is(this.#setup.ofMembers) ? chance.pick(customer.members) : undefined
    const self = member ? { ...customer, client: member } : customer
    await this.#carryOut(name, chance, { what, customer: self, isHostile })
  }

  async #carryOut(
    name: string,
    chance: Chance,
    { what, customer, isHostile }: { what: ActName; customer: Customer; isHostile: boolean },
  ): Promise<void> {
    const acting = isHostile ? { ...customer, known: structuredClone(customer.others) } : customer
    const keep = (secret: unknown) => {
      // The customer's reply contains the secret once; after that, nobody may see it.
      if (typeof secret === 'string') queueMicrotask(() => this.#secrets.add(secret))
    }
    const { sent } = acting.client
    const began = this.scheduler.elapsed()
    const act = (what: ActName) => acts[what]({ customer: acting, chance, keep })
    let done: ActName = what
    let reply = await act(what)
    if (!reply && acting.client.sent === sent) {
      // A customer without a suitable object orders something.
      done = chance.pick(FIRST) ?? 'order'
      reply = await act(done)
    }
    this.#tell(name, `${acting.client.name} ${done}${isHostile ? ' of another' : ''}: ${outcomeOf(reply)}`)
    if (reply && reply.status < 300) this.#count(`${done} succeeds`)
    if (reply && reply.status >= 400 && reply.status < 500) this.#count(`${done} is refused`)
    const isOthers = isHostile && !HARMLESS.includes(done) && !this.#world.moves.since(began)
    if (isOthers && reply && reply.status < 300)
      this.#broken(`nobody changes what is another's: ${done} was answered with ${reply.status}`)
  }

  #strike(name: string, blow: Exclude<Blow, 'none'>, chance: Chance, customer?: Customer): Promise<void> {
    const scene = {
      ...{ installation: this.#installation, setup: this.#setup, simulator: this.#simulator },
      ...{ disks: this.#disks, receivers: this.#receivers, till: this.#till, customers: this.#customers },
      operator: () => this.#operator,
      tell: (of: string, what: string) => this.#tell(of, what),
      count: (point: string) => this.#count(point),
      countStop: (process: Process, stop: 'kill' | 'pause') => this.#countStop(process, stop),
      broken: (what: string) => this.#broken(what),
      replace: () => this.#replace(),
    }
    return strike(scene, name, blow, chance, customer)
  }

  /** Starts a process while others work. */
  async #replace(): Promise<void> {
    this.#started += 1
    const starting = Process.start(this.#installation, `p${this.#started}`)
    // The start fails if the database is down; #revive repeats it later.
    await starting.catch(() => this.#count('a process could not start'))
  }

  // ---- what must hold ----

  #check(): void {
    if (this.#violations.length > 0 || !this.#auditor.hasNews()) return
    this.#writes += 1
    if (!this.#options.isStrict && this.#writes % this.#setup.checkEvery !== 0) return
    for (const what of this.#auditor.broken()) this.#broken(what)
  }

  /** Without any faults, everything comes to rest within a bound. */
  async #settle(): Promise<void> {
    const { scheduler } = this
    this.#faults.isOn = false
    await this.#revive()
    // A clock that was set back must catch up, because work is due by then, and the last moves may not have begun.
    await scheduler.run(scheduler.behindMs + 60_000)
    // A provider repeats its notifications until they are acknowledged.
    for (const id of this.#till.ids) await this.#calm(hint(this.#world, new Chance(this.#seed, 11), id))
    const look = async () => [
      ...this.#auditor.brokenAtRest(),
      ...this.#brokenDeliveries(),
      ...(await this.#disks.brokenAtRest()),
      ...this.#auditor.brokenOrders(this.#world.orders),
      ...this.#till.broken(this.#auditor.rows(PAYMENTS)),
      ...(this.#operator?.broken() ?? []),
      ...brokenCredits(this.#auditor),
    ]
    await this.#rest(60_000, look, `after ${SETTLE_MS / 60_000} quiet minutes`)
  }

  #brokenDeliveries(): string[] {
    return this.#receivers.broken(this.#auditor.rows(DELIVERIES))
  }

  #hear(process: string, line: string): void {
    for (const secret of this.#secrets)
      if (line.includes(secret)) this.#broken('a line of the log has a secret')
    const { msg, err }: { msg?: string; err?: { message?: string } } = JSON.parse(line)
    this.#count(`log: ${msg}`)
    this.#options.onTrace?.(`LOG ${process} ${msg} ${err?.message ?? ''}`)
  }

  #broken(what: string): void {
    if (this.#violations.includes(what)) return
    this.#violations.push(what)
    this.scheduler.note(`VIOLATION ${what}`)
  }

  #count(point: string): void {
    this.#sometimes.set(point, (this.#sometimes.get(point) ?? 0) + 1)
  }

  #countStop(process: Process, stop: 'kill' | 'pause'): void {
    for (const { type, step, moment } of process.doing.values())
      this.#count(stepPair(type, step, stop, moment))
  }

  /** Counts how operations ended, and the statuses of servers. */
  #countEnds(): void {
    const ends = this.#auditor.rows<{ what: string }>(
      `SELECT type || ' ' || status AS what FROM operations WHERE finished_at IS NOT NULL UNION
      SELECT 'a server becomes ' || json_extract(data, '$.new_status') FROM events
      WHERE type = 'server.status_changed' UNION
      SELECT 'a credit expires' FROM events WHERE type = 'credit.expired'`,
    )
    for (const { what } of ends) this.#count(what)
    for (const [kind, count] of this.#faults.counts) this.#sometimes.set(`fault: ${kind}`, count)
  }

  #tell(name: string, what: string): void {
    const at = new Date(this.scheduler.now()).toISOString().replace('T', ' ').slice(0, 19)
    this.#story.push(`${at} [${name}] ${what}`)
  }
}
