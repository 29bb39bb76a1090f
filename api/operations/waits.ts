import { Counts } from '../concurrency.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'

const MAX_OF_ACCOUNT = 50

/** Bounds the long polls for operations: each holds a connection, and an account has a limited number of them. */
export class Waits {
  readonly #ofAccount = new Counts()

  /** @throws ApiError rate_limited if the account has too many long polls already */
  async hold<Result>(accountId: string, wait: () => Promise<Result>): Promise<Result> {
    if (this.#ofAccount.get(accountId) >= MAX_OF_ACCOUNT)
      throw new ApiError(
        httpProblems.rate_limited,
        `An account can wait for ${MAX_OF_ACCOUNT} operations at once. Wait for the end of one first.`,
        {},
        { 'retry-after': '5' },
      )
    this.#ofAccount.add(accountId, 1)
    try {
      return await wait()
    } finally {
      this.#ofAccount.add(accountId, -1)
    }
  }
}
