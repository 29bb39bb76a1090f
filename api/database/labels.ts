import { type SelectQueryBuilder, sql } from 'kysely'
import type { Schema } from './schema.ts'

/** The name of a label, as part of a pattern. */
export const LABEL_NAME = '[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?'
/** One term of a selector: a label must exist or not, or have a value or not. */
const LABEL_TERM = `(!?${LABEL_NAME}|${LABEL_NAME}!?=[^,]*)`
/** All terms of a selector have to hold. */
export const LABEL_SELECTOR = `^${LABEL_TERM}(,${LABEL_TERM}){0,31}$`

interface Term {
  name: string
  /** null: any. */
  value: string | null
  isNegated: boolean
}

function termsOf(selector: string): Term[] {
  return selector.split(',').map((term) => {
    const [, negation, name = '', operator = '', value = ''] = /^(!?)([^!=]*)(!=|==?)?(.*)$/s.exec(term) ?? []
    return { name, value: operator ? value : null, isNegated: negation === '!' || operator === '!=' }
  })
}

/** True if labels, as JSON text, match a selector. */
export function isSelected(labels: string, selector: string): boolean {
  const own: Record<string, string> = JSON.parse(labels)
  return termsOf(selector).every(({ name, value, isNegated }) => {
    const has = Object.hasOwn(own, name) && (value === null || own[name] === value)
    return has !== isNegated
  })
}

/**
 * The same for a column `labels`, with a condition for each term. In JSON text a whole `"name":"value"` or `"name":`
 * can only be a label, as quotes inside are escaped.
 */
export function selecting(selector: string) {
  return termsOf(selector).map(({ name, value, isNegated }) => {
    const fragment = `${JSON.stringify(name)}:${value === null ? '' : JSON.stringify(value)}`
    // LIKE would ignore case on one of the two databases; replace is exact on both.
    const rest = sql`replace(labels, ${fragment}, '')`
    return isNegated ? sql<boolean>`${rest} = labels` : sql<boolean>`${rest} <> labels`
  })
}

/** Selects the rows of a query whose column `labels` matches a selector, if one is given. */
export function labelled<Table extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Table, Row>,
  selector: string | undefined,
): SelectQueryBuilder<Schema, Table, Row> {
  return (selector === undefined ? [] : selecting(selector)).reduce((all, term) => all.where(term), query)
}

/** The labels of a row. */
export function labelsOf(row: { labels: string }): Record<string, string> {
  const labels: Record<string, string> = JSON.parse(row.labels)
  return labels
}

/** The column of the labels that a request gives; empty if it gives none. */
export function labelsColumn(labels: Readonly<Record<string, string>> | undefined): { labels?: string } {
  return labels === undefined ? {} : { labels: JSON.stringify(labels) }
}
