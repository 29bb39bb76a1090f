import type { Clock } from '../clock.ts'
import { parseMoney, UNITS_PER_KOPECK } from '../money.ts'
import { boundedFetch, NoAnswer } from '../outgoing.ts'
import { Refused } from './provider.ts'

const TIMEOUT_MS = 10_000
/**
 * Statuses after which the same request may succeed later, for example when the operator has corrected a
 * wrong key.
 */
const PASSING = [202, 401, 403, 408, 409, 429]

interface Sent {
  method: 'GET' | 'POST'
  headers: Readonly<Record<string, string>>
  body?: string
  clock: Clock
}

/** Sends a request to a provider. @returns its reply. @throws NoAnswer, Refused */
export async function ask(url: URL, { method, headers, body, clock }: Sent): Promise<Reply> {
  const { origin, pathname } = url
  const [late, isDone] = [new AbortController(), new AbortController()]
  void clock.sleep(TIMEOUT_MS, isDone.signal).then(() => late.abort())
  const sent = { method, headers, redirect: 'error', ...(body === undefined ? {} : { body }) }
  const response = await boundedFetch(url.href, { ...sent, signal: late.signal }).finally(() =>
    isDone.abort(),
  )
  const text = await response.text()
  const { status } = response
  // The provider's text goes into logs and to the operator, who needs its beginning.
  const why = `${method} ${origin}${pathname} replied ${status}: ${text.slice(0, 300)}`
  if (PASSING.includes(status)) throw new NoAnswer(why)
  if (!response.ok) throw new Refused(why)
  try {
    const reply: unknown = JSON.parse(text)
    return new Reply(reply)
  } catch {
    throw new NoAnswer(`${why} is not JSON`)
  }
}

/** A part of a provider's reply, each value of which is checked when it is read. */
export class Reply {
  readonly #value: unknown

  constructor(value: unknown) {
    this.#value = value
  }

  /** Returns the part at this path; a missing part contains undefined. */
  at(...path: readonly string[]): Reply {
    const inner = path.reduce<unknown>((part, name) => Object(part)[name], this.#value)
    return new Reply(inner)
  }

  get textOrNull(): string | null {
    return typeof this.#value === 'string' ? this.#value : null
  }

  /** @throws NoAnswer if it is not a text */
  get text(): string {
    return this.textOrNull ?? this.#refuse('text')
  }

  get items(): Reply[] {
    return Array.isArray(this.#value) ? this.#value.map((item) => new Reply(item)) : this.#refuse('a list')
  }

  /** The digits of a whole number. */
  get wholeOrNull(): string | null {
    return Number.isSafeInteger(this.#value) ? String(this.#value) : null
  }

  /** Units of a decimal text such as "500.00". */
  get decimal(): number {
    return /^\d{1,9}(\.\d{1,2})?$/.test(this.text) ? parseMoney(this.text) : this.#refuse('an amount')
  }

  /** Units of a whole number of kopecks. */
  get minor(): number {
    const value = this.#value
    const isWhole = typeof value === 'number' && Number.isSafeInteger(value * UNITS_PER_KOPECK) && value >= 0
    return isWhole ? value * UNITS_PER_KOPECK : this.#refuse('an amount')
  }

  get isTrue(): boolean {
    return this.#value === true
  }

  #refuse(wanted: string): never {
    const sent = String(JSON.stringify(this.#value)).slice(0, 100)
    throw new NoAnswer(`the payment provider sent ${sent} instead of ${wanted}`)
  }
}
