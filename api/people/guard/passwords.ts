import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Semaphore } from '../../concurrency.ts'
import { ApiError, bodyIssue, httpProblems, type Issue, invalid } from '../../http/contract/problem.ts'
import type { PersonTable } from '../person/tables.ts'

export const MIN_PASSWORD = 10
export const MAX_PASSWORD = 200

/** Cost of a hash: 128 * r * 2^logN bytes of memory, p times. */
export interface Cost {
  logN: number
  r: number
  p: number
}

/** 32 MiB and about a fifth of a second of one core: as OWASP's cheat sheet has it. */
const COST: Cost = { logN: 15, r: 8, p: 3 }
const SALT_BYTES = 16
const KEY_BYTES = 32
/** Node has four threads for such work, which also read files for other requests. */
const AT_ONCE = 2
const MOST_WAITING = 30

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

/**
 * Hashes and compares passwords in threads, two at once. To limit the work that strangers cause, callers are refused
 * when many are waiting.
 */
export class Passwords {
  readonly #cost: Cost
  readonly #slots = new Semaphore(AT_ONCE)

  /** @param cost the cost of new hashes; existing hashes contain theirs */
  constructor(cost: Cost = COST) {
    this.#cost = cost
  }

  /** @throws ApiError rate_limited */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    const key = await this.#derive(password, salt, this.#cost)
    return written(this.#cost, salt, key)
  }

  /**
   * Compares a password with a hash. It takes as long without a hash, so that the time does not reveal who has signed
   * up.
   * @throws ApiError rate_limited
   */
  async matches(password: string, stored: string | null): Promise<boolean> {
    const [, logN, r, p, salt = '', key = ''] = (stored ?? this.#none()).split('$')
    const wanted = Buffer.from(key, 'base64')
    const cost = { logN: Number(logN), r: Number(r), p: Number(p) }
    const found = await this.#derive(password, Buffer.from(salt, 'base64'), cost)
    return timingSafeEqual(found, wanted) && stored !== null
  }

  /** Hash to compare with if the person has no password. */
  #none(): string {
    return written(this.#cost, Buffer.alloc(SALT_BYTES), Buffer.alloc(KEY_BYTES))
  }

  async #derive(password: string, salt: Buffer, { logN, r, p }: Cost): Promise<Buffer> {
    this.requireRoom()
    const N = 2 ** logN
    // The same password may be typed in several ways: NIST SP 800-63B, 3.1.1.2.
    const typed = password.normalize('NFKC')
    return this.#slots.run(() => derive(typed, salt, KEY_BYTES, { N, r, p, maxmem: 256 * N * r }))
  }

  /** Refuses a caller when too many are waiting, before anything is written. @throws ApiError rate_limited */
  requireRoom(): void {
    if (this.#slots.waiting < MOST_WAITING) return
    throw new ApiError(
      httpProblems.rate_limited,
      'Too many people are signing in right now. Try again in a few seconds.',
      {},
      { 'retry-after': '5' },
    )
  }
}

function written({ logN, r, p }: Cost, salt: Buffer, key: Buffer): string {
  return ['scrypt', logN, r, p, salt.toString('base64'), key.toString('base64')].join('$')
}

/** Loaded when a first password is chosen: it is half a megabyte of text. */
let common: Promise<ReadonlySet<string>> | null = null

async function loadCommon(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  const list: readonly unknown[] = dictionary['passwords-common']
  return new Set(list.map(String).filter((password) => password.length >= MIN_PASSWORD))
}

/**
 * Refuses passwords that attackers try first; the schema checks the length.
 * @param own words that an attacker knows about the person
 */
export async function passwordIssues(
  field: string,
  password: string,
  own: readonly string[],
): Promise<Issue[]> {
  common ??= loadCommon()
  const plain = password.normalize('NFKC').toLowerCase()
  const isRepeated = /^(.{1,4})\1+.{0,3}$/.test(plain)
  const isOwn = own.some((word) => word.length >= 4 && plain.replaceAll(word.toLowerCase(), '').length < 6)
  if (!isRepeated && !isOwn && !(await common).has(plain)) return []
  const message = `${field} is one of the passwords that attackers try first. Choose another, such as four random words.`
  return [bodyIssue(field, 'password_too_common', message)]
}

/** @throws ApiError validation_failed */
export async function requireGoodPassword(
  field: string,
  password: string,
  { email, name }: Pick<PersonTable, 'email' | 'name'>,
): Promise<void> {
  const own = [...email.split(/[@.]/), email, ...name.split(' ')]
  const issues = await passwordIssues(field, password, own)
  if (issues.length > 0) throw invalid(issues)
}
