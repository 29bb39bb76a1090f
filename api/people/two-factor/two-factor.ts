import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import { CredentialRefused, type SignedIn } from '../../http/contract/auth.ts'
import { ApiError, bodyIssue, invalid } from '../../http/contract/problem.ts'
import { generatePassword, type Secrets } from '../../secrets.ts'
import { Attempts } from '../guard/attempts.ts'
import type { Proof } from '../guard/proof.ts'
import { type Notify, noteChange } from '../letters/notices.ts'
import { hashSecret } from '../person/links.ts'
import { findPerson } from '../person/people.ts'
import { peopleProblems } from '../person/schema.ts'
import { endSessions, requireSession } from '../person/sessions.ts'
import type { PersonTable, TwoFactorTable } from '../person/tables.ts'
import { isTwoFactorOn, removeTwoFactor, twoFactorRow } from './enrollment.ts'
import { isTotp, otpauthUri, SECRET_BYTES, stepOf, toBase32 } from './totp.ts'

export const RECOVERY_CODES = 10
const HOUR = 3600_000
/** Time to enter the first code from the app. */
const PENDING_MS = HOUR

type Options = Notify & { db: Database; clock: Clock; secrets: Secrets; siteUrl: () => string }

/** The second factor of people: codes that an app shows, and recovery codes for when it is lost. */
export class TwoFactor {
  readonly #options: Options
  readonly #proof: Proof
  readonly #sealing: Secrets
  /** Limit for each person from all networks together: three of a million codes are right at any time. */
  readonly #byPerson: Attempts

  constructor(options: Options, proof: Proof) {
    this.#options = options
    this.#proof = proof
    this.#sealing = options.secrets.for('two-factor')
    this.#byPerson = new Attempts(options, 'codes', { burst: 10, everyMs: HOUR })
  }

  /**
   * Creates a secret; one that was not confirmed by a code is replaced. @throws ApiError two_factor_on, and those of Proof
   */
  async begin(signedIn: SignedIn, password: string | undefined) {
    const { db, clock, siteUrl } = this.#options
    const { person_id, email } = await this.#proof.require(signedIn, password, 'password')
    const secret = randomBytes(SECRET_BYTES)
    const row = {
      secret: this.#sealing.seal(secret.toString('base64')),
      enabled_at: null,
      last_step: 0,
      created_at: clock.now(),
    }
    const { numInsertedOrUpdatedRows = 0n } = await db.transaction().execute(async (tx) => {
      await requireSession(tx, signedIn)
      return tx
        .insertInto('two_factors')
        .values({ person_id, ...row })
        .onConflict((conflict) =>
          conflict.column('person_id').doUpdateSet(row).where('two_factors.enabled_at', 'is', null),
        )
        .executeTakeFirstOrThrow()
    })
    if (numInsertedOrUpdatedRows === 0n)
      throw new ApiError(
        peopleProblems.two_factor_on,
        'Two-factor authentication is already on. To set up another app, turn it off first.',
      )
    return { secret: toBase32(secret), uri: otpauthUri(secret, { site: new URL(siteUrl()).host, email }) }
  }

  /**
   * Turns two-factor authentication on, once a code shows that the app has the secret. Ends all other sessions. @throws
   * ApiError wrong_code, rate_limited
   */
  async confirm(signedIn: SignedIn, code: string): Promise<string[]> {
    const { personId, sessionId } = signedIn
    const { db, clock } = this.#options
    await this.#byPerson.take(personId)
    const codes = await db.transaction().execute(async (tx) => {
      await requireSession(tx, signedIn)
      const row = await twoFactorRow(tx, personId)
      const isOpen = row?.enabled_at === null && row.created_at > clock.now() - PENDING_MS
      const step = isOpen ? this.#stepOf(row, code) : null
      if (!row || step === null) throw wrongCode(personId)
      const { numUpdatedRows } = await tx
        .updateTable('two_factors')
        .set({ enabled_at: clock.now(), last_step: step })
        .where('person_id', '=', personId)
        .where('secret', '=', row.secret)
        .where('enabled_at', 'is', null)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) throw wrongCode(personId)
      await endSessions(tx, personId, sessionId)
      await noteChange(tx, this.#options, await findPerson(tx, personId), 'two_factor_on')
      return writeCodes(tx, personId)
    })
    await this.#byPerson.giveBack(personId)
    this.#options.mailed()
    return codes
  }

  /**
   * Turns two-factor authentication off. Ends all other sessions. @throws ApiError two_factor_off, wrong_code, and of
   * Proof
   */
  async disable(signedIn: SignedIn, given: { password?: string; code: string }): Promise<void> {
    await this.#change(signedIn, given, async (tx, person) => {
      await removeTwoFactor(tx, person.person_id)
      await endSessions(tx, person.person_id, signedIn.sessionId)
      await noteChange(tx, this.#options, person, 'two_factor_off')
    })
  }

  /**
   * Creates recovery codes, which replace the earlier ones. @throws ApiError two_factor_off, wrong_code, and those of Proof
   */
  replaceCodes(signedIn: SignedIn, given: { password?: string; code: string }): Promise<string[]> {
    return this.#change(signedIn, given, async (tx, person) => {
      await noteChange(tx, this.#options, person, 'recovery_codes')
      return writeCodes(tx, person.person_id)
    })
  }

  async #change<Result>(
    signedIn: SignedIn,
    { password, code }: { password?: string; code: string },
    change: (tx: Queries, person: PersonTable) => Promise<Result>,
  ): Promise<Result> {
    const person = await this.#proof.require(signedIn, password, 'password')
    return this.confirmed(signedIn, { person, code }, async (tx) => {
      if (!(await isTwoFactorOn(tx, person.person_id)))
        throw new ApiError(peopleProblems.two_factor_off, 'Two-factor authentication is off.')
      return change(tx, person)
    })
  }

  /**
   * Runs a change that also needs the second factor, if the person has one. The caller has checked the first.
   * @throws ApiError session_ended, validation_failed, wrong_code, rate_limited
   */
  async confirmed<Result>(
    signedIn: SignedIn,
    { person, code }: { person: PersonTable; code: string | undefined },
    change: (tx: Queries) => Promise<Result>,
  ): Promise<Result> {
    const { db, mailed } = this.#options
    const result = await this.withCode(person, code ?? '', () =>
      db.transaction().execute(async (tx) => {
        await requireSession(tx, signedIn)
        if (await isTwoFactorOn(tx, person.person_id)) {
          if (code === undefined) throw invalid([bodyIssue('code', 'required', 'code is required.')])
          await this.useCode(tx, person, code)
        }
        return change(tx)
      }),
    )
    mailed()
    return result
  }

  /**
   * Counts an attempt at a code, unless it succeeds. Recovery codes are too long to be guessed. @throws ApiError
   * rate_limited
   */
  async withCode<Result>(
    { person_id }: PersonTable,
    code: string,
    run: () => Promise<Result>,
  ): Promise<Result> {
    if (isTotp(code)) await this.#byPerson.take(person_id)
    const result = await run()
    if (isTotp(code)) await this.#byPerson.giveBack(person_id)
    return result
  }

  /**
   * Uses up a code of the app or a recovery code; only one of several simultaneous attempts succeeds. @throws ApiError
   * wrong_code
   */
  async useCode(tx: Queries, person: PersonTable, code: string): Promise<void> {
    const { person_id: personId } = person
    const isRight = isTotp(code)
      ? await this.#useStep(tx, personId, code)
      : await this.#useRecoveryCode(tx, person, code)
    if (!isRight) throw wrongCode(personId)
  }

  async #useStep(tx: Queries, personId: string, code: string): Promise<boolean> {
    const row = await twoFactorRow(tx, personId)
    const step = row ? this.#stepOf(row, code) : null
    if (step === null) return false
    const { numUpdatedRows } = await tx
      .updateTable('two_factors')
      .set({ last_step: step })
      .where('person_id', '=', personId)
      .where('last_step', '<', step)
      .where('enabled_at', 'is not', null)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  async #useRecoveryCode(tx: Queries, person: PersonTable, code: string): Promise<boolean> {
    const { numDeletedRows } = await tx
      .deleteFrom('recovery_codes')
      .where('hash', '=', hashOf(code))
      .where('person_id', '=', person.person_id)
      .executeTakeFirst()
    if (numDeletedRows === 0n) return false
    await noteChange(tx, this.#options, person, 'recovery_code_used')
    return true
  }

  #stepOf({ secret }: TwoFactorTable, code: string): number | null {
    return stepOf(Buffer.from(this.#sealing.open(secret), 'base64'), code, this.#options.clock.now())
  }
}

/** @returns the codes in groups, as people copy them; only their hashes are stored */
async function writeCodes(tx: Queries, personId: string): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, generatePassword)
  await tx.deleteFrom('recovery_codes').where('person_id', '=', personId).execute()
  const rows = codes.map((code) => ({ hash: hashOf(code), person_id: personId }))
  await tx.insertInto('recovery_codes').values(rows).execute()
  return codes.map((code) => code.match(/.{5}/g)?.join('-') ?? code)
}

const hashOf = (code: string) => hashSecret(code.replace(/[\s-]/g, ''))

function wrongCode(personId: string): ApiError {
  return new CredentialRefused(
    peopleProblems.wrong_code,
    'The code is wrong or was used already. Wait for the next code in the app, and check that the clock of the device is correct.',
    { accountId: null, tokenId: null, personId },
  )
}
