/** The least time between two looks at a machine that hints arrive for. */
const HINT_MS = 250

/**
 * Looks at machines that may have changed. Hints that arrive during or soon after a look are merged, since a guest
 * that broke out of its QEMU can send any number.
 */
export class Hints {
  /** The machines that are being looked at, or were a moment ago; true: another hint has arrived since. */
  readonly #looked = new Map<string, boolean>()
  readonly #look: (serverId: string) => Promise<unknown>
  #isClosed = false

  /** @param look must not reject */
  constructor(look: (serverId: string) => Promise<unknown>) {
    this.#look = look
  }

  async changed(serverId: string): Promise<void> {
    if (this.#isClosed) return
    if (this.#looked.has(serverId)) {
      this.#looked.set(serverId, true)
      return
    }
    this.#looked.set(serverId, false)
    await this.#look(serverId)
    const again = () => {
      const isHinted = this.#looked.get(serverId)
      this.#looked.delete(serverId)
      if (isHinted) void this.changed(serverId)
    }
    setTimeout(again, HINT_MS).unref()
  }

  close(): void {
    this.#isClosed = true
  }
}
