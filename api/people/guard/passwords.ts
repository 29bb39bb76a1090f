import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { bodyIssue, type Issue, invalid } from '../../http/contract/problem.ts'
import type { PersonTable } from '../person/tables.ts'
import { PasswordQueue, type Source } from './password-queue.ts'

export const MIN_PASSWORD = 10
export const MAX_PASSWORD = 200

/** Cost of a hash: 128 * r * 2^logN bytes of memory, p times. */
export interface Cost {
  logN: number
  r: number
  p: number
}

/** A hash takes 32 MiB and about a fifth of a second of one core, as OWASP's cheat sheet recommends. */
const COST: Cost = { logN: 15, r: 8, p: 3 }
const SALT_BYTES = 16
const KEY_BYTES = 32

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

/** Hashes and compares passwords in threads, two at once, in the order of a queue. */
export class Passwords {
  readonly #cost: Cost
  readonly #queue: PasswordQueue

  /**
   * @param cost the cost of new hashes; existing hashes contain theirs
   * @param now the milliseconds of a clock that never goes back
   */
  constructor(cost: Cost = COST, now: () => number = () => performance.now()) {
    this.#cost = cost
    this.#queue = new PasswordQueue(now)
  }

  /** @throws ApiError rate_limited */
  async hash(password: string, source: Source): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    const key = await this.#derive(password, source, { ...this.#cost, salt })
    return written(this.#cost, salt, key)
  }

  /**
   * Compares a password with a hash. It takes as long without a hash, so that the time does not reveal who has signed
   * up.
   * @throws ApiError rate_limited
   */
  async matches(password: string, stored: string | null, source: Source): Promise<boolean> {
    const [, logN, r, p, salt = '', key = ''] = (stored ?? this.#none()).split('$')
    const wanted = Buffer.from(key, 'base64')
    const cost = { logN: Number(logN), r: Number(r), p: Number(p) }
    const found = await this.#derive(password, source, { ...cost, salt: Buffer.from(salt, 'base64') })
    return timingSafeEqual(found, wanted) && stored !== null
  }

  /** Hash to compare with if the person has no password. */
  #none(): string {
    return written(this.#cost, Buffer.alloc(SALT_BYTES), Buffer.alloc(KEY_BYTES))
  }

  #derive(password: string, source: Source, { logN, r, p, salt }: Cost & { salt: Buffer }): Promise<Buffer> {
    const N = 2 ** logN
    // Keyboards encode the same characters differently, see NIST SP 800-63B, 3.1.1.2.
    const typed = password.normalize('NFKC')
    return this.#queue.run(source, () => derive(typed, salt, KEY_BYTES, { N, r, p, maxmem: 256 * N * r }))
  }

  /** Refuses a source for which there is no room, before anything is written. @throws ApiError rate_limited */
  requireRoom(source: Source): void {
    this.#queue.requireRoom(source)
  }
}

function written({ logN, r, p }: Cost, salt: Buffer, key: Buffer): string {
  return ['scrypt', logN, r, p, salt.toString('base64'), key.toString('base64')].join('$')
}

/** The list is half a megabyte, so it is loaded only when somebody chooses a password. */
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
