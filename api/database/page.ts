import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Schema } from './schema.ts'

/** A part of a list: at most `limit` rows after the first `offset`. */
export interface Page {
  limit: number
  offset: number
}

/** Returns one page of an ordered query, and the total number of rows. */
export async function pageOf<Table extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Table, Row>,
  { limit, offset }: Page,
): Promise<{ items: Row[]; total: number }> {
  const items = await query.limit(limit).offset(offset).execute()
  // A page with room left is the last one.
  const isLast = items.length < limit && (items.length > 0 || offset === 0)
  return { items, total: isLast ? offset + items.length : await countOf(query) }
}

/** Counts the rows that a query selects. */
export async function countOf<Table extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Table, Row>,
): Promise<number> {
  const { total } = await totalOf(query).executeTakeFirstOrThrow()
  return total
}

/** The number of rows that a query selects, as a part of another query. */
export function countIn<Table extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Table, Row>,
): RawBuilder<number> {
  return sql<number>`(${totalOf(query)})`
}

function totalOf<Table extends keyof Schema, Row>(query: SelectQueryBuilder<Schema, Table, Row>) {
  return query
    .clearSelect()
    .clearOrderBy()
    .select((eb) => eb.fn.countAll<number>().as('total'))
}

/** True of rows with the text in one of these columns, in upper or lower case. */
export function contains(text: string, ...columns: readonly string[]): RawBuilder<boolean> {
  const part = `%${text.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`
  const each = columns.map((column) => sql`lower(${sql.ref(column)}) LIKE ${part} ESCAPE '\\'`)
  return sql<boolean>`(${sql.join(each, sql` OR `)})`
}
