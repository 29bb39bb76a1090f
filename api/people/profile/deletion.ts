import { changeStatus, findAccount, forgetContact, lockAccount } from '../../accounts/accounts.ts'
import { readUse } from '../../accounts/quotas.ts'
import type { AccountTable } from '../../accounts/tables.ts'
import { balanceOf } from '../../billing/ledger.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import { countOf } from '../../database/page.ts'
import type { Quota } from '../../feature.ts'
import type { SignedIn } from '../../http/contract/auth.ts'
import { ApiError } from '../../http/contract/problem.ts'
import { formatMoney } from '../../money.ts'
import type { Proof } from '../guard/proof.ts'
import { type Notify, noteChange } from '../letters/notices.ts'
import { accountIdsOf, isLastOwner, membersBeside, membership, takeOut } from '../membership/members.ts'
import { endLinks } from '../person/links.ts'
import { peopleProblems } from '../person/schema.ts'
import type { MemberTable, PersonTable } from '../person/tables.ts'
import { removeTwoFactor } from '../two-factor/enrollment.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'

export type DeletionOptions = Notify & {
  db: Database
  clock: Clock
  /** Counts of objects that an account must not have. */
  ownQuotas: Record<'addresses' | 'snapshots' | 'images', Quota>
  /** The quotas of all features. */
  quotas: readonly Quota[]
}

interface Parts {
  proof: Proof
  twoFactor: TwoFactor
}

/**
 * Deletes a person with their credentials and sessions. The audits of their accounts keep their actions. An account
 * that is left without members is closed.
 * @throws ApiError last_owner, account_in_use, wrong_code, and those of Proof
 */
export async function deletePerson(
  options: DeletionOptions,
  { proof, twoFactor }: Parts,
  { signedIn, password, code }: { signedIn: SignedIn; password?: string; code?: string },
): Promise<void> {
  const person = await proof.require(signedIn, password, 'password')
  const { person_id: personId } = person
  await twoFactor.confirmed(signedIn, { person, code }, async (tx) => {
    // Accounts are locked in one order, and before the audit is written, whose rows lock them too: otherwise two
    // simultaneous deletions could deadlock.
    const accountIds = (await accountIdsOf(tx, personId)).sort()
    for (const accountId of accountIds) {
      const { frozen_at } = await lockAccount(tx, accountId)
      if (frozen_at !== null) throw inUse(await findAccount(tx, accountId), 'is frozen. Ask the operator.')
    }
    await noteChange(tx, options, person, 'person_deleted')
    for (const accountId of accountIds) {
      const member = await membership.first(tx, { accountId, personId })
      if (member) await leave(tx, options, member)
    }
    await forget(tx, person)
  })
}

async function leave(tx: Queries, options: DeletionOptions, member: MemberTable): Promise<void> {
  const { clock, quotas } = options
  const { account_id: accountId } = member
  const isLast = await isLastOwner(tx, member)
  if (isLast) await requireUnused(tx, options, member)
  await takeOut(tx, clock, member)
  if (!isLast) return
  const reason = 'The last owner deleted themselves.'
  await changeStatus({ db: tx, clock, quotas }, accountId, {
    from: ['active', 'suspended'],
    to: 'closed',
    reason,
  })
  await forgetContact(tx, accountId)
}

/** @throws ApiError last_owner, account_in_use */
async function requireUnused(
  tx: Queries,
  { ownQuotas: { addresses, snapshots, images } }: DeletionOptions,
  member: MemberTable,
): Promise<void> {
  const { account_id: accountId } = member
  const { account, used } = await readUse(tx, accountId, [addresses, snapshots, images])
  const has = ({ name }: Quota) => used[name] !== 0
  if ((await countOf(membersBeside(tx, member))) > 0)
    throw new ApiError(
      peopleProblems.last_owner,
      `You are the only owner of the account “${account.name}”, which has other members. Make one of them an owner first, or remove them.`,
    )
  if (account.servers_used > 0) throw inUse(account, 'has servers. Delete them first.')
  if (has(addresses)) throw inUse(account, 'has public addresses. Release them first.')
  if (has(snapshots)) throw inUse(account, 'has snapshots. Delete them first.')
  if (has(images)) throw inUse(account, 'has images. Delete them first.')
  const balance = await balanceOf(tx, accountId)
  if (balance < 0) throw inUse(account, `owes ${formatMoney(-balance)} RUB. Pay the debt first.`)
}

function inUse({ name }: AccountTable, what: string): ApiError {
  return new ApiError(peopleProblems.account_in_use, `The account “${name}” ${what}`)
}

async function forget(tx: Queries, { person_id: personId, email }: PersonTable): Promise<void> {
  await removeTwoFactor(tx, personId)
  await endLinks(tx, email)
  for (const table of ['sessions', 'passkeys', 'identities', 'device_logins', 'people'] as const)
    await tx.deleteFrom(table).where('person_id', '=', personId).execute()
}
