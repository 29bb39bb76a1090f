/** A sequence of random numbers that a seed determines. */
export class Chance {
  #state: number

  /** @param seeds their values and their order determine the sequence */
  constructor(...seeds: number[]) {
    this.#state = 0x9e3779b9
    for (const seed of seeds) {
      this.#state = (this.#state ^ seed) >>> 0
      this.#state = (this.next() * 2 ** 32) >>> 0
    }
  }

  /** Draws a number from 0 to below 1 (mulberry32). */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Draws an integer from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** Draws an integer between two others, inclusive. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  /** Draws true with this probability. */
  is(probability: number): boolean {
    return this.next() < probability
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)]
  }

  /** Draws one of the names, in proportion to their weights. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[] // a record has no other keys
    let left = this.next() * names.reduce((sum, name) => sum + weights[name], 0)
    for (const name of names) {
      left -= weights[name]
      if (left < 0) return name
    }
    throw new Error('nothing to draw from')
  }
}
