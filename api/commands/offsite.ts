import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { BucketPlace } from '../offsite/bucket.ts'
import { FolderPlace } from '../offsite/place.ts'
import { Sealer } from '../offsite/sealer.ts'
import { Vault } from '../offsite/vault.ts'
import type { Secrets } from '../secrets.ts'

/** The name of the fact whose value is the sealed key of the copies off site. */
const KEY = 'offsite_key'

/** The place of the copies off site; null: none is set. */
export async function openVault(
  { offsite }: Pick<Config, 'offsite'>,
  db: Database,
  secrets: Secrets,
): Promise<Vault | null> {
  if (offsite === null) return null
  const place = typeof offsite === 'string' ? new FolderPlace(offsite) : new BucketPlace(offsite, systemClock)
  return new Vault(place, new Sealer(await offsiteKey(db, secrets)))
}

/**
 * Returns the age key for which copies are encrypted, created on first use. Backups of the database contain
 * it, sealed.
 */
export async function offsiteKey(db: Database, secrets: Secrets): Promise<string> {
  const sealer = secrets.for(KEY)
  const find = () => db.selectFrom('installation').select('value').where('name', '=', KEY).executeTakeFirst()
  const known = await find()
  if (known) return sealer.open(known.value)
  // Most starts create no key, and the library loads slowly.
  const { generateX25519Identity } = await import('age-encryption')
  const made = { name: KEY, value: sealer.seal(await generateX25519Identity()) }
  await db
    .insertInto('installation')
    .values(made)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  // Two processes may start at once: both use the key of the first.
  const kept = await find()
  return sealer.open(kept?.value ?? made.value)
}
