import { findAccount, lockAccount } from '../accounts/accounts.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { audit } from '../events/outbox.ts'
import { isoTime } from '../http/contract/fields.ts'
import { ApiError } from '../http/contract/problem.ts'
import { addMember, listOwners } from '../people/membership/members.ts'
import { createLink } from '../people/person/links.ts'
import { canonicalEmail, createPerson, findPerson, personByEmail } from '../people/person/people.ts'
import type { PersonTable } from '../people/person/tables.ts'
import { asOperator } from './accounts.ts'
import { operatorProblems } from './schema.ts'

const LOGIN_LIVES_MS = 5 * 60_000

interface Place {
  db: Database
  clock: Clock
  siteUrl: () => string
}

/**
 * Creates a link that signs in the owner with the address of an account. An account without members gets its owner: a
 * new person with its address, who can set a password later by mail.
 * @throws ApiError account_status_conflict, owner_unclear
 */
export function createLogin(
  { db, clock, siteUrl }: Place,
  accountId: string,
): Promise<{ url: string; email: string; expires_at: string; personId: string }> {
  return asOperator(() =>
    db.transaction().execute(async (tx) => {
      await lockAccount(tx, accountId)
      const { person_id, email, language } = await ownerOf(tx, clock, accountId)
      const secret = await createLink(
        tx,
        clock,
        { purpose: 'sign_in', email, person_id, language },
        LOGIN_LIVES_MS,
      )
      const at = clock.now()
      await audit(tx, [accountId], { objectType: 'person', objectId: person_id, at })
      return {
        url: `${siteUrl()}/sign-in#${secret}`,
        email,
        expires_at: isoTime(at + LOGIN_LIVES_MS),
        personId: person_id,
      }
    }),
  )
}

async function ownerOf(tx: Queries, clock: Clock, accountId: string): Promise<PersonTable> {
  const account = await findAccount(tx, accountId)
  if (account.status === 'closed')
    throw new ApiError(operatorProblems.account_status_conflict, 'The account is closed, so nobody signs in.')
  const email = canonicalEmail(account.email)
  const owners = await listOwners(tx, accountId)
  const owner = owners.find((person) => person.email === email)
  if (owner) return requireCustomer(owner)
  // The customer may have made another person the owner, whose other accounts a link would open to them.
  if (owners.length > 0)
    throw unclear(`None of its owners has its address, ${email}. They sign in by themselves.`)
  // Anybody can type an address in a shop, so the address alone must not open an existing person's accounts.
  if (await personByEmail(tx, email))
    throw unclear('A person with its address exists, but is not a member of it. They sign in by themselves.')
  const fresh = { email, name: account.name, language: 'en', password: null } as const
  const created = await createPerson(tx, clock, fresh)
  if (!created) throw unclear('Its owner is signing up at this moment. Try again.')
  await addMember(tx, clock, { accountId, personId: created.person_id, role: 'owner' })
  return findPerson(tx, created.person_id)
}

/** A token must not create a login with more rights than its own, so operators are refused. */
function requireCustomer(owner: PersonTable): PersonTable {
  if (owner.is_operator === 1)
    throw unclear('Its owner is an operator of this installation, and signs in by themselves.')
  return owner
}

function unclear(detail: string): ApiError {
  return new ApiError(operatorProblems.owner_unclear, `No link was created. ${detail}`)
}
