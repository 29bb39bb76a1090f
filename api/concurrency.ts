/**
 * A number of slots that callers wait for in the order in which they come; with one slot it is a mutex.
 * `run` is for a piece of work, `acquire` and `release` are for a span that no function encloses.
 */
export class Semaphore {
  #free: number
  readonly #waiting: PromiseWithResolvers<void>[] = []

  constructor(slots: number) {
    this.#free = slots
  }

  /** True if the next caller has to wait. */
  get isFull(): boolean {
    return this.#free === 0
  }

  acquire(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      return Promise.resolve()
    }
    const waiter = Promise.withResolvers<void>()
    this.#waiting.push(waiter)
    return waiter.promise
  }

  release(): void {
    const next = this.#waiting.shift()
    // The slot is handed over. If it were free until the waiter runs, a newcomer could take it as well.
    if (next) next.resolve()
    else this.#free += 1
  }

  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    await this.acquire()
    try {
      return await work()
    } finally {
      this.release()
    }
  }

  /** Makes `acquire` and `run` throw `reason` for all callers that wait. */
  rejectWaiting(reason: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(reason)
  }
}

/** A mutex for each key. Keys that nobody uses take no memory. */
export class KeyedMutex {
  readonly #mutexes = new Map<string, Semaphore>()

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const mutex = this.#mutexes.get(key) ?? new Semaphore(1)
    this.#mutexes.set(key, mutex)
    try {
      return await mutex.run(work)
    } finally {
      // By now the key may have another mutex, which is in use.
      if (!mutex.isFull && this.#mutexes.get(key) === mutex) this.#mutexes.delete(key)
    }
  }
}

/** A queue that serves its keys in turn (round robin): a key with many items delays no other. */
export class FairQueue<Item> {
  /** The first key is the next one. */
  readonly #lines = new Map<string, Item[]>()

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  has(key: string): boolean {
    return this.#lines.has(key)
  }

  push(key: string, item: Item): void {
    const line = this.#lines.get(key)
    if (line) line.push(item)
    else this.#lines.set(key, [item])
  }

  /** Removes and returns the next item. @param isOpen keys for which it returns false keep their place */
  shift(isOpen: (key: string) => boolean = () => true): { key: string; item: Item } | undefined {
    for (const [key, [item]] of this.#lines) {
      if (item === undefined || !isOpen(key)) continue
      this.delete(key, item)
      return { key, item }
    }
    return undefined
  }

  /** Removes an item. The key's next item comes after those of all other keys. */
  delete(key: string, item: Item): void {
    const line = this.#lines.get(key) ?? []
    const at = line.indexOf(item)
    if (at === -1) return
    line.splice(at, 1)
    this.#lines.delete(key)
    if (line.length > 0) this.#lines.set(key, line)
  }
}

/** A mutex whose callers get it in turns of their keys, so that a key with many callers delays no other for long. */
export class FairMutex {
  readonly #waiting = new FairQueue<() => void>()
  readonly #callers = new Counts()
  #isTaken = false

  /** The callers of a key that run or wait. */
  callersOf(key: string): number {
    return this.#callers.get(key)
  }

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    this.#callers.add(key, 1)
    // The mutex is handed over, so it stays taken until nobody waits.
    if (this.#isTaken) await new Promise<void>((begin) => this.#waiting.push(key, begin))
    this.#isTaken = true
    try {
      return await work()
    } finally {
      this.#callers.add(key, -1)
      const next = this.#waiting.shift()
      if (next) next.item()
      else this.#isTaken = false
    }
  }
}

/** Counts by key. Keys whose count is zero take no memory. */
export class Counts {
  readonly #counts = new Map<string, number>()

  get(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** @param amount negative to subtract; no count becomes negative */
  add(key: string, amount: number): void {
    const count = this.get(key) + amount
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}

/** Calls `work` for each item, for at most `width` of them at a time. */
export async function inParallel<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  width = 32,
): Promise<void> {
  const next = items.values()
  const worker = async () => {
    for (const item of next) await work(item)
  }
  await Promise.all(Array.from({ length: width }, worker))
}
