/** A map with a bound. What was not set for longest makes place for what comes, rather than memory be filled. */
export class Recent<Value> {
  readonly #most: number
  /** In the order of use. */
  readonly #values = new Map<string, Value>()
  /** One for good: what it has passed is gone. Each new one would walk over the holes that deleted keys leave. */
  readonly #oldest = this.#values.keys()

  /** @param most how many it keeps */
  constructor(most: number) {
    this.#most = most
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    // Taken out first, so that the map is in the order of use.
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
