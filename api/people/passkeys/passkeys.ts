import { randomBytes } from 'node:crypto'
import { parse, v7 as uuid } from 'uuid'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import { countOf, type Page, pageOf } from '../../database/page.ts'
import { CredentialRefused, type SignedIn } from '../../http/contract/auth.ts'
import { ApiError, notFound } from '../../http/contract/problem.ts'
import type { Proof } from '../guard/proof.ts'
import type { Ticket, Tickets } from '../guard/tickets.ts'
import { type Notify, noteChange } from '../letters/notices.ts'
import { findPerson } from '../person/people.ts'
import { peopleProblems } from '../person/schema.ts'
import { endSessions, requireSession } from '../person/sessions.ts'
import type { PasskeyTable } from '../person/tables.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'

const MOST_PASSKEYS = 10

/**
 * Ed25519, P-256 and RSA, as the console requests them. By default the library tries algorithms that are experimental
 * in Node.
 */
const ALGORITHMS = [-8, -7, -257]

/** It is loaded on first use, because it contains every vendor's certificates. */
const webauthn = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

type Options = Notify & { db: Database; clock: Clock; siteUrl: () => string }

/** A new passkey, as the browser returned it. */
interface Made {
  ticket: string
  name: string
  credential: string
  client_data: string
  attestation: string
}

/** A signed challenge, as the browser returned it. */
interface Signed {
  credential: string
  client_data: string
  authenticator_data: string
  signature: string
}

/** The factors that a person proves again. */
interface Shown {
  password?: string
  code?: string
}

interface Parts {
  proof: Proof
  tickets: Tickets
  twoFactor: TwoFactor
}

/** Passkeys for the host of this installation. Unlocking one counts as both factors. */
export class Passkeys {
  readonly #options: Options
  readonly #proof: Proof
  readonly #tickets: Tickets
  readonly #twoFactor: TwoFactor

  constructor(options: Options, { proof, tickets, twoFactor }: Parts) {
    this.#options = options
    this.#proof = proof
    this.#tickets = tickets
    this.#twoFactor = twoFactor
  }

  /**
   * Origin of the pages that can use passkeys. Browsers require a host name with TLS, or localhost; null otherwise.
   */
  get origin(): string | null {
    const { protocol, hostname, origin } = new URL(this.#options.siteUrl())
    return hostname === 'localhost' || (protocol === 'https:' && /[a-z]$/i.test(hostname)) ? origin : null
  }

  /**
   * Returns the parameters for creating a passkey.
   * @throws ApiError passkeys_unavailable, wrong_code, and those of Proof
   */
  async begin(signedIn: SignedIn, { password, code }: Shown) {
    this.#requirePossible()
    const { personId, sessionId } = signedIn
    const person = await this.#proof.require(signedIn, password, 'password')
    const kept = await this.#twoFactor.confirmed(signedIn, { person, code }, (tx) =>
      ofPerson(tx, personId).execute(),
    )
    const challenge = newChallenge()
    const ticket = this.#tickets.issue('passkey', { challenge, personId, sessionId })
    return {
      ticket,
      challenge,
      relying_party: this.#rpId,
      user_handle: Buffer.from(parse(personId)).toString('base64url'),
      user_name: person.email,
      exclude_credentials: kept.map(({ credential_id }) => credential_id),
    }
  }

  /**
   * Stores a passkey that a browser has created.
   * @throws ApiError ticket_invalid, passkey_refused, passkey_limit_reached
   */
  async create({ personId, sessionId }: SignedIn, made: Made): Promise<PasskeyTable> {
    const { db, clock, mailed } = this.#options
    const ticket = this.#tickets.open('passkey', made.ticket)
    const { contents } = ticket
    if (contents.personId !== personId || contents.sessionId !== sessionId) throw refused(personId)
    const { credential, credentialBackedUp } = await this.#verifyMade(made, contents.challenge, personId)
    const row: PasskeyTable = {
      passkey_id: uuid(),
      person_id: personId,
      credential_id: credential.id,
      public_key: Buffer.from(credential.publicKey).toString('base64url'),
      is_synced: Number(credentialBackedUp),
      counter: credential.counter,
      name: made.name,
      created_at: clock.now(),
      last_used_at: null,
    }
    await db.transaction().execute(async (tx) => {
      await this.#tickets.spend(tx, ticket)
      // The lock makes the count of the person's passkeys exact.
      await requireSession(tx, { personId, sessionId })
      if ((await countOf(tx.selectFrom('passkeys').where('person_id', '=', personId))) >= MOST_PASSKEYS)
        throw new ApiError(
          peopleProblems.passkey_limit_reached,
          `You have ${MOST_PASSKEYS} passkeys. Remove one that you do not use.`,
        )
      const { numInsertedOrUpdatedRows = 0n } = await tx
        .insertInto('passkeys')
        .values(row)
        .onConflict((conflict) => conflict.column('credential_id').doNothing())
        .executeTakeFirst()
      if (numInsertedOrUpdatedRows === 0n) throw refused(personId)
      await noteChange(tx, this.#options, await findPerson(tx, personId), 'passkey_added')
    })
    mailed()
    return row
  }

  async #verifyMade(made: Made, challenge: string, personId: string) {
    try {
      const attestation = Buffer.from(made.attestation, 'base64url')
      const object = (await helpers()).decodeAttestationObject(attestation)
      const format = object.get('fmt')
      // No attestation of the key's vendor is requested. Verifying one would fetch the addresses in its certificates.
      requireOwnFrame(made.client_data)
      if (format !== 'none' && (format !== 'packed' || object.get('attStmt').get('x5c')))
        throw refused(personId)
      const { verified, registrationInfo } = await (await webauthn()).verifyRegistrationResponse({
        response: {
          id: made.credential,
          rawId: made.credential,
          type: 'public-key',
          clientExtensionResults: {},
          response: { clientDataJSON: made.client_data, attestationObject: made.attestation },
        },
        expectedChallenge: challenge,
        supportedAlgorithmIDs: ALGORITHMS,
        ...this.#expected,
      })
      if (!verified) throw refused(personId)
      return registrationInfo
    } catch {
      throw refused(personId)
    }
  }

  /** Creates a challenge that any passkey may sign. @throws ApiError passkeys_unavailable */
  challenge() {
    this.#requirePossible()
    const challenge = newChallenge()
    return {
      ticket: this.#tickets.issue('passkey_sign_in', { challenge }),
      challenge,
      relying_party: this.#rpId,
    }
  }

  /**
   * Finds the passkey that signed the challenge.
   * @returns it with the counter of this signature
   * @throws ApiError passkey_refused
   */
  async verify(signed: Signed, { contents }: Ticket<'passkey_sign_in'>): Promise<PasskeyTable> {
    const { db } = this.#options
    const { credential: id } = signed
    const passkey = await db
      .selectFrom('passkeys')
      .selectAll()
      .where('credential_id', '=', id)
      .executeTakeFirst()
    if (!passkey) throw refused(null)
    const found = await this.#verifySigned(signed, contents.challenge, passkey).catch(() => null)
    if (!found?.verified) throw refused(passkey.person_id)
    return { ...passkey, counter: found.authenticationInfo.newCounter }
  }

  async #verifySigned(
    signed: Signed,
    expectedChallenge: string,
    { credential_id: id, public_key, counter }: PasskeyTable,
  ) {
    requireOwnFrame(signed.client_data)
    const { verifyAuthenticationResponse } = await webauthn()
    return verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: signed.client_data,
          authenticatorData: signed.authenticator_data,
          signature: signed.signature,
        },
      },
      expectedChallenge,
      ...this.#expected,
      // A counter that falls behind means that somebody has a copy of the key, so the sign-in is refused.
      credential: { id, publicKey: new Uint8Array(Buffer.from(public_key, 'base64url')), counter },
    })
  }

  /** The passkeys of a person, newest first. */
  list(personId: string, page: Page) {
    return pageOf(ofPerson(this.#options.db, personId).orderBy('passkey_id', 'desc'), page)
  }

  /** @throws ApiError passkey_not_found */
  async rename(personId: string, passkeyId: string, name: string): Promise<PasskeyTable> {
    const row = await this.#options.db
      .updateTable('passkeys')
      .set({ name })
      .where('person_id', '=', personId)
      .where('passkey_id', '=', passkeyId)
      .returningAll()
      .executeTakeFirst()
    if (!row) throw notFound(peopleProblems.passkey_not_found)
    return row
  }

  /**
   * Removes a passkey, and ends all other sessions, since the device may be lost.
   * @throws ApiError passkey_not_found, wrong_code, and those of Proof
   */
  async remove(signedIn: SignedIn, passkeyId: string, { password, code }: Shown): Promise<void> {
    const { personId, sessionId } = signedIn
    const person = await this.#proof.require(signedIn, password, 'password')
    await this.#twoFactor.confirmed(signedIn, { person, code }, async (tx) => {
      await endSessions(tx, personId, sessionId)
      const { numDeletedRows } = await tx
        .deleteFrom('passkeys')
        .where('person_id', '=', personId)
        .where('passkey_id', '=', passkeyId)
        .executeTakeFirst()
      if (numDeletedRows === 0n) throw notFound(peopleProblems.passkey_not_found)
      await noteChange(tx, this.#options, person, 'passkey_removed')
    })
  }

  get #rpId(): string {
    return new URL(this.#options.siteUrl()).hostname
  }

  get #expected() {
    const { origin } = new URL(this.#options.siteUrl())
    return { expectedOrigin: origin, expectedRPID: this.#rpId, requireUserVerification: true }
  }

  #requirePossible(): void {
    if (this.origin !== null) return
    throw new ApiError(
      peopleProblems.passkeys_unavailable,
      'Passkeys need a host name and TLS. The operator sets them up with BERTH_PUBLIC_NAME.',
    )
  }
}

const newChallenge = () => randomBytes(32).toString('base64url')

function ofPerson(db: Queries, personId: string) {
  return db.selectFrom('passkeys').selectAll().where('person_id', '=', personId)
}

/** Records the use of a passkey. @returns false if it was removed meanwhile, or a copy of it was used at once */
export async function notePasskeyUse(
  tx: Queries,
  { passkey_id, counter }: Pick<PasskeyTable, 'passkey_id' | 'counter'>,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('passkeys')
    .set({ last_used_at: now, counter })
    .where('passkey_id', '=', passkey_id)
    .where((eb) => eb.or([eb('counter', '<', counter), eb('counter', '=', 0)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Refuses passkeys that were used in a frame on another site, since the console is never framed. @throws Error */
function requireOwnFrame(clientData: string): void {
  const signed: { crossOrigin?: unknown } = JSON.parse(Buffer.from(clientData, 'base64url').toString())
  if (signed.crossOrigin === true) throw new Error('the key was used in a foreign frame')
}

export function refused(personId: string | null): ApiError {
  return new CredentialRefused(
    peopleProblems.passkey_refused,
    'The passkey is unknown here, or belongs to another site. Sign in with your password.',
    personId === null ? null : { accountId: null, tokenId: null, personId },
  )
}
