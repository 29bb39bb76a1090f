import { ApiError, httpProblems } from '../http/contract/problem.ts'

const MAX_OF_ACCOUNT = 50

/** Long polls for operations: each holds a connection, and an account may hold only so many. */
export class Waits {
  readonly #ofAccount = new Map<string, number>()

  /** @throws ApiError rate_limited where the account waits for as many as it may already */
  async hold<Result>(accountId: string, wait: () => Promise<Result>): Promise<Result> {
    const held = this.#ofAccount.get(accountId) ?? 0
    if (held >= MAX_OF_ACCOUNT)
      throw new ApiError(
        httpProblems.rate_limited,
        `An account can wait for ${MAX_OF_ACCOUNT} operations at once. Wait for the end of one first.`,
        {},
        { 'retry-after': '5' },
      )
    this.#ofAccount.set(accountId, held + 1)
    try {
      return await wait()
    } finally {
      const left = (this.#ofAccount.get(accountId) ?? 1) - 1
      if (left > 0) this.#ofAccount.set(accountId, left)
      else this.#ofAccount.delete(accountId)
    }
  }
}
