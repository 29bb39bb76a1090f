import { type Kysely, sql } from 'kysely'

const tables = ['ssh_keys', 'networks', 'firewalls', 'volumes', 'addresses', 'snapshots']

/** Everything that customers give a name can have labels, as servers do. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of tables)
    await sql`ALTER TABLE ${sql.table(table)} ADD COLUMN labels text NOT NULL DEFAULT '{}'`.execute(db)
}
