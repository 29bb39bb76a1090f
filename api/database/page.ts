import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Queries } from './database.ts'
import { prepared } from './prepared.ts'
import type { Schema } from './schema.ts'

/** A part of a list: at most `limit` rows after the first `offset`. */
export interface Page {
  limit: number
  offset: number
}

/** One page of a list, and the total number of rows. */
interface Paged<Row> {
  items: Row[]
  total: number
}

/** Returns one page of an ordered query, and the total number of rows. */
export async function pageOf<Table extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Table, Row>,
  page: Page,
): Promise<Paged<Row>> {
  const items = await query.limit(page.limit).offset(page.offset).execute()
  return withTotal(items, page, () => countOf(query))
}

/**
 * Prepares pageOf for a list that is often read, whose query is compiled once.
 * @param build as for `prepared`
 * @param count counts all rows
 */
export function preparedPage<Values extends Record<string, string>, Table extends keyof Schema, Row>(
  build: (db: Queries, values: Values) => SelectQueryBuilder<Schema, Table, Row>,
  count = (db: Queries, values: Values) => countOf(build(db, values)),
): (db: Queries, values: Values, page: Page) => Promise<Paged<Row>> {
  const query = prepared((db, { limit, offset, ...values }: Values & Page) => {
    const own = values as unknown as Values // no value has the name of a member of Page
    return build(db, own).limit(limit).offset(offset)
  })
  return async (db, values, page) => {
    const items = await query.all(db, { ...values, limit: page.limit, offset: page.offset })
    return withTotal(items, page, () => count(db, values))
  }
}

async function withTotal<Row>(
  items: Row[],
  { limit, offset }: Page,
  count: () => Promise<number>,
): Promise<Paged<Row>> {
  // A page with room left is the last one.
  const isLast = items.length < limit && (items.length > 0 || offset === 0)
  return { items, total: isLast ? offset + items.length : await count() }
}

/** Counts the rows that a query selects. */
export async function countOf<Table extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Table, Row>,
): Promise<number> {
  const { total } = await counting(query).executeTakeFirstOrThrow()
  return total
}

/** The number of rows that a query selects, as a part of another query. */
export function countIn<Table extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Table, Row>,
): RawBuilder<number> {
  return sql<number>`(${counting(query)})`
}

function counting<Table extends keyof Schema, Row>(query: SelectQueryBuilder<Schema, Table, Row>) {
  return query
    .clearSelect()
    .clearOrderBy()
    .select((eb) => eb.fn.countAll<number>().as('total'))
}

/** Returns the condition that one of these columns contains the text, in upper or lower case. */
export function contains(text: string, ...columns: readonly string[]): RawBuilder<boolean> {
  const part = `%${text.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`
  const each = columns.map((column) => sql`lower(${sql.ref(column)}) LIKE ${part} ESCAPE '\\'`)
  return sql<boolean>`(${sql.join(each, sql` OR `)})`
}
