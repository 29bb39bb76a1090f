import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * The ledger, rates and meters say what they are about: a type and an id. Until now the column `server_id` also had
 * the ids of public addresses. It stays with the same id in it, because processes of the version before know rows by
 * it. On PostgreSQL they may still add rows, which a trigger completes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of tables.flatMap(billItems)) await sql.raw(statement).execute(db)
  for (const statement of indexes) await sql.raw(statement).execute(db)
  if (db.getExecutor().adapter instanceof SqliteAdapter) return
  await sql.raw(completeItem).execute(db)
  for (const statement of tables.map(completeRows)) await sql.raw(statement).execute(db)
}

const tables = ['rates', 'billing_meters', 'transactions']

const billItems = (table: string) => [
  `ALTER TABLE ${table} ADD COLUMN item_type text`,
  `ALTER TABLE ${table} ADD COLUMN item_id text
    CHECK (item_id IS NULL OR (item_id = server_id AND item_type IS NOT NULL))`,
  `UPDATE ${table} SET item_id = server_id,
      item_type = CASE WHEN server_id IN (SELECT address_id FROM addresses) THEN 'address' ELSE 'server' END
    WHERE server_id IS NOT NULL`,
]

const indexes = [
  `CREATE INDEX rates_item ON rates (item_id, starts_at)`,
  `CREATE UNIQUE INDEX billing_meters_item ON billing_meters (item_id)`,
]

const completeItem = `CREATE FUNCTION complete_billed_item() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.item_id := NEW.server_id;
    NEW.item_type := CASE
      WHEN EXISTS (SELECT 1 FROM addresses WHERE address_id = NEW.server_id) THEN 'address' ELSE 'server' END;
    RETURN NEW;
  END $$`

const completeRows = (table: string) => `CREATE TRIGGER ${table}_item BEFORE INSERT ON ${table}
  FOR EACH ROW WHEN (NEW.item_id IS NULL AND NEW.server_id IS NOT NULL)
  EXECUTE FUNCTION complete_billed_item()`
