import { randomBytes } from 'node:crypto'
import type { EndedTraffic } from '../../measurement.ts'

/** The machines whose ended cards are remembered. */
const MOST = 10_000

interface Bytes {
  rx: number
  tx: number
}

/** Sums up the bytes of cards that were removed, by machine, for as long as this process runs. */
export class EndedCards {
  readonly #life = randomBytes(4).toString('hex')
  readonly #sums = new Map<string, Bytes>()

  /** Counts a card that is removed. */
  add(serverId: string, { rx, tx }: Bytes): void {
    const before = this.of(serverId)
    this.#sums.delete(serverId)
    this.#sums.set(serverId, { rx: before.rx + rx, tx: before.tx + tx })
    const [oldest] = this.#sums.keys()
    if (this.#sums.size > MOST && oldest !== undefined) this.#sums.delete(oldest)
  }

  of(serverId: string): EndedTraffic {
    return { life: this.#life, ...(this.#sums.get(serverId) ?? { rx: 0, tx: 0 }) }
  }
}
