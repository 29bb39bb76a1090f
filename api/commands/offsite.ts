import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { BucketPlace } from '../offsite/bucket.ts'
import { FolderPlace } from '../offsite/place.ts'
import { Sealer } from '../offsite/sealer.ts'
import { Vault } from '../offsite/vault.ts'
import type { Secrets } from '../secrets.ts'

/** The fact of the installation that is the sealed key of its copies off site. */
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

/** The age key that copies are encrypted for, made on first use. A backup of the database has it, sealed. */
export async function offsiteKey(db: Database, secrets: Secrets): Promise<string> {
  const sealer = secrets.for(KEY)
  const find = () => db.selectFrom('installation').select('value').where('name', '=', KEY).executeTakeFirst()
  const known = await find()
  if (known) return sealer.open(known.value)
  // Most starts need no key of their own, and the library loads slowly.
  const { generateX25519Identity } = await import('age-encryption')
  const made = { name: KEY, value: sealer.seal(await generateX25519Identity()) }
  await db
    .insertInto('installation')
    .values(made)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  // Two processes may start at once: both use the first one's key.
  const kept = await find()
  return sealer.open(kept?.value ?? made.value)
}
