import type { Queries } from '../../database/database.ts'
import { countOf } from '../../database/page.ts'
import type { TwoFactorTable } from '../person/tables.ts'

export function twoFactorRow(db: Queries, personId: string): Promise<TwoFactorTable | undefined> {
  return db.selectFrom('two_factors').selectAll().where('person_id', '=', personId).executeTakeFirst()
}

export async function isTwoFactorOn(db: Queries, personId: string): Promise<boolean> {
  return ((await twoFactorRow(db, personId))?.enabled_at ?? null) !== null
}

/** Describes a person's two-factor authentication; null if it is off. */
export async function showTwoFactor(db: Queries, personId: string) {
  const enabledAt = (await twoFactorRow(db, personId))?.enabled_at ?? null
  if (enabledAt === null) return null
  const left = await countOf(db.selectFrom('recovery_codes').where('person_id', '=', personId))
  return { enabledAt, recoveryCodesLeft: left }
}

/** @returns false if two-factor authentication was off */
export async function removeTwoFactor(tx: Queries, personId: string): Promise<boolean> {
  const wasOn = await isTwoFactorOn(tx, personId)
  await tx.deleteFrom('two_factors').where('person_id', '=', personId).execute()
  await tx.deleteFrom('recovery_codes').where('person_id', '=', personId).execute()
  return wasOn
}
