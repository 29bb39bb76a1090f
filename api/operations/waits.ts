import { ApiError } from '../http/problem.ts'

const MAX_OF_ACCOUNT = 50

/** Requests that wait for the end of an operation: each holds a connection, and an account holds only so many. */
export class Waits {
  readonly #ofAccount = new Map<string, number>()

  /** @throws ApiError rate_limited where the account waits for as many as it may already */
  async hold(accountId: string, wait: () => Promise<void>): Promise<void> {
    const held = this.#ofAccount.get(accountId) ?? 0
    if (held >= MAX_OF_ACCOUNT)
      throw new ApiError(
        'rate_limited',
        `An account can wait for ${MAX_OF_ACCOUNT} operations at once. Wait for the end of one first.`,
        {},
        { 'retry-after': '5' },
      )
    this.#ofAccount.set(accountId, held + 1)
    try {
      await wait()
    } finally {
      const left = (this.#ofAccount.get(accountId) ?? 1) - 1
      if (left > 0) this.#ofAccount.set(accountId, left)
      else this.#ofAccount.delete(accountId)
    }
  }
}
