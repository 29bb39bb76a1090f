/** A map of bounded size. The entry that was not set for the longest time makes room for new ones. */
export class Recent<Value> {
  readonly #most: number
  /** The entries, in the order of use. */
  readonly #values = new Map<string, Value>()
  /** A single iterator, since a new one would walk over the holes of deleted keys each time. */
  readonly #oldest = this.#values.keys()

  /** @param most the number of entries that it keeps */
  constructor(most: number) {
    this.#most = most
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    // The key is removed first, so that the map stays in the order of use.
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#most) return
    const oldest = this.#oldest.next().value
    if (oldest !== undefined) this.#values.delete(oldest)
  }

  delete(key: string): void {
    this.#values.delete(key)
  }

  clear(): void {
    this.#values.clear()
  }
}
