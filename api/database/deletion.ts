import { sql } from 'kysely'
import type { Queries } from './database.ts'
import type { Schema } from './schema.ts'

/**
 * Deletes the rows that a query finds by a key, in two statements. As one, PostgreSQL may repeat the query for each row
 * of the table: that is its plan for a table that it takes for empty, as after a VACUUM beside a large insertion.
 * @returns the number deleted
 */
export async function deleteFound<Key extends string>(
  db: Queries,
  table: keyof Schema,
  key: Key,
  found: { execute(): Promise<Record<Key, string | number>[]> },
): Promise<number> {
  const keys = (await found.execute()).map((row) => row[key])
  if (keys.length === 0) return 0
  const { numDeletedRows } = await db
    .deleteFrom(table)
    .where(sql<string | number>`${sql.ref(key)}`, 'in', keys)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
