/** Does what is asked for one key one after the other, so that it waits here and not for a lock of the database. */
export class InOrder {
  /** What was asked for last, by key. */
  readonly #last = new Map<string, Promise<unknown>>()

  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    // Whether the one before succeeded is not its business.
    const mine = this.#last.get(key)?.then(task, task) ?? task()
    this.#last.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key)
    }
  }
}
