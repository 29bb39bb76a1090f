import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import type { Clock } from '../../api/clock.ts'
import { Chance } from './chance.ts'
import { breathe, type Nature } from './seams.ts'

/** A part of the simulated world that can die or pause: a process of the service, a host, a customer. */
export class Actor {
  readonly name: string
  isDead = false
  /** The actor is paused until this time. */
  pausedUntil = 0

  constructor(name: string) {
    this.name = name
  }
}

/** A piece of work that may run next. */
interface Chore {
  actor: Actor
  label: string
  at: number
  /** Orders chores of the same time. */
  order: number
  run: () => void
  isOver: boolean
}

const current = new AsyncLocalStorage<Actor>()

/** More chores in a row without any time passing mean an endless loop. */
const MOST_AT_ONCE = 30_000
/** The number of characters of the trace that are hashed at once. */
const HASHED_AT_ONCE = 32_768

/**
 * Decides what happens next. Everything that waits at a seam is a chore, and a seeded draw picks the next one among
 * those whose time has come. So one number determines the whole history.
 */
export class Scheduler implements Nature {
  #chance: Chance
  readonly #entropy: Chance
  #elapsed = 0
  /** The wall clock may step; the monotonic one does not. */
  #epoch: number
  /** The latest time that the wall clock had when it was set. */
  #latest = 0
  /** The elapsed time at which the wall clock was last set. */
  clockSetAt = Number.NEGATIVE_INFINITY
  #ready: Chore[] = []
  readonly #later = new Heap()
  readonly #hash = createHash('sha256')
  /** Lines of the trace that are not hashed yet: a call for each would cost more than the hash. */
  #noted = ''
  readonly #nobody = new Actor('nobody')
  #order = 0
  #atOnce = 0
  steps = 0
  /** The least time that a clock sleeps. */
  lazyMs = 0
  /** Called after each chore. */
  onStep: (label: string) => void = () => {}
  /** Called before each chore; it may kill or pause the actor. */
  onChore: (actor: Actor, label: string) => void = () => {}
  /** Receives each line of the trace, if it is wanted. */
  onTrace: ((line: string) => void) | null = null
  request: Nature['request'] = () => {
    throw new Error('nobody answers')
  }
  fetch: Nature['fetch'] = () => Promise.reject(new Error('nobody answers'))
  socket: Nature['socket'] = () => {
    throw new Error('nobody answers')
  }
  /** Resolves when everything that a step has begun waits at a seam. */
  settle: () => Promise<void> = breathe

  constructor(seed: number, start: number) {
    this.#chance = new Chance(seed, 1)
    this.#entropy = new Chance(seed, 2)
    this.#epoch = start
  }

  readonly now = (): number => Math.floor(this.#epoch + this.#elapsed)
  readonly elapsed = (): number => this.#elapsed
  readonly random = (): number => this.#entropy.next()

  /** Reseeds the draws, so that earlier ones no longer matter. */
  reseed(...seeds: number[]): void {
    this.#chance = new Chance(...seeds)
  }

  /** Sets the wall clock ahead or back. */
  stepClock(ms: number): void {
    this.#latest = Math.max(this.#latest, this.now())
    this.#epoch += ms
    this.clockSetAt = this.#elapsed
  }

  /** The time until the wall clock catches up with its latest value before it was set back. */
  get behindMs(): number {
    return Math.max(0, this.#latest - this.now())
  }

  /** Lets time pass in which nothing runs. */
  jump(ms: number): void {
    this.#elapsed += ms
    this.#atOnce = 0
  }

  as<Result>(actor: Actor, run: () => Result): Result {
    return current.run(actor, run)
  }

  get actor(): Actor {
    return current.getStore() ?? this.#nobody
  }

  readonly after = (ms: number, run: () => void): (() => void) => {
    const inContext = AsyncLocalStorage.snapshot()
    return this.#add(this.actor, 'timer', ms, () => inContext(run))
  }

  /** Resolves when the draw lets the actor continue. @param ms the least time that passes */
  cross(actor: Actor, label: string, ms = 0): Promise<void> {
    return new Promise((resolve) => void this.#add(actor, label, ms, resolve))
  }

  clockOf(actor: Actor): Clock {
    return {
      now: this.now,
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve()
          const cancel = this.#add(actor, 'sleep', Math.max(1, this.lazyMs, ms), () => finish())
          const finish = () => {
            cancel()
            signal?.removeEventListener('abort', finish)
            resolve()
          }
          signal?.addEventListener('abort', finish)
        }),
    }
  }

  /** Adds a line to the trace. */
  note(line: string): void {
    this.#noted += `${line}\n`
    if (this.#noted.length > HASHED_AT_ONCE) this.#flush()
    this.onTrace?.(line)
  }

  get digest(): string {
    this.#flush()
    return this.#hash.copy().digest('hex')
  }

  #flush(): void {
    this.#hash.update(this.#noted)
    this.#noted = ''
  }

  /** Runs due chores until a promise is settled. @throws Error if that takes longer than this time */
  async until<Result>(promise: Promise<Result>, patienceMs: number, what: string): Promise<Result> {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    promise.then(settle, settle)
    const limit = this.#elapsed + patienceMs
    await this.settle()
    while (!isSettled) {
      if (!(await this.#step(limit))) throw new Error(`${what} did not end within ${patienceMs / 1000} s`)
    }
    return promise
  }

  /** Runs all chores that are due in a span of time. */
  async run(ms: number): Promise<void> {
    const limit = this.#elapsed + ms
    await this.settle()
    while (await this.#step(limit)) {}
    this.#elapsed = Math.max(this.#elapsed, limit)
  }

  #add(actor: Actor, label: string, ms: number, run: () => void): () => void {
    this.#order += 1
    const chore = { actor, label, at: this.#elapsed + ms, order: this.#order, run, isOver: false }
    if (ms <= 0) this.#ready.push(chore)
    else this.#later.push(chore)
    return () => {
      chore.isOver = true
    }
  }

  /** @returns false if nothing is due before the limit */
  async #step(limit: number): Promise<boolean> {
    const chore = this.#next(limit)
    if (!chore) return false
    this.onChore(chore.actor, chore.label)
    if (chore.actor.isDead || this.#waits(chore)) return true
    chore.isOver = true
    this.steps += 1
    this.#atOnce += 1
    if (this.#atOnce > MOST_AT_ONCE) throw new Error(`an endless loop at ${chore.actor.name}: ${chore.label}`)
    this.note(`${this.#elapsed} ${chore.actor.name} ${chore.label}`)
    current.run(chore.actor, chore.run)
    await this.settle()
    this.onStep(chore.label)
    return true
  }

  #next(limit: number): Chore | null {
    for (;;) {
      for (let due = this.#later.first; due && due.at <= this.#elapsed; due = this.#later.first)
        this.#ready.push(this.#later.pop())
      const chore = this.#draw()
      if (chore) return chore
      const next = this.#later.first
      if (!next || next.at > limit) return null
      if (next.at > this.#elapsed) {
        this.#elapsed = next.at
        this.#atOnce = 0
      }
    }
  }

  /** Draws one of the ready chores. Chores of paused actors wait. */
  #draw(): Chore | null {
    while (this.#ready.length > 0) {
      const at = this.#chance.below(this.#ready.length)
      const chore = this.#ready[at] as Chore // the place is within the list
      const last = this.#ready.pop() as Chore // the list is not empty
      if (last !== chore) this.#ready[at] = last
      if (chore.isOver || chore.actor.isDead) continue
      if (!this.#waits(chore)) return chore
    }
    return null
  }

  /** Puts off a chore of an actor that is paused. */
  #waits(chore: Chore): boolean {
    const { pausedUntil } = chore.actor
    if (pausedUntil <= this.#elapsed) return false
    chore.at = pausedUntil
    this.#later.push(chore)
    return true
  }
}

/** A heap of chores, ordered by time. */
class Heap {
  readonly #items: Chore[] = []

  get first(): Chore | undefined {
    return this.#items[0]
  }

  push(chore: Chore): void {
    const items = this.#items
    let at = items.length
    items.push(chore)
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = items[above] as Chore // its place is lower than that of an item
      if (!isBefore(chore, parent)) break
      items[at] = parent
      at = above
    }
    items[at] = chore
  }

  pop(): Chore {
    const items = this.#items
    const first = items[0] as Chore // callers have looked at it
    const last = items.pop() as Chore // there is at least the first
    if (items.length > 0) this.#sink(last)
    return first
  }

  #sink(chore: Chore): void {
    const items = this.#items
    let at = 0
    for (;;) {
      const left = items[2 * at + 1]
      const right = items[2 * at + 2]
      if (!left) break
      const isRight = right !== undefined && isBefore(right, left)
      const child = isRight ? right : left
      if (!isBefore(child, chore)) break
      items[at] = child
      at = 2 * at + (isRight ? 2 : 1)
    }
    items[at] = chore
  }
}

function isBefore(a: Chore, b: Chore): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
