import { type SelectQueryBuilder, sql } from 'kysely'
import type { Schema } from './schema.ts'

/** The name of a label, as part of a pattern. */
export const LABEL_NAME = '[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?'
/** One term of a selector, which requires or excludes a label, or one or several of its values. */
const LABEL_TERM = `(!?${LABEL_NAME}|${LABEL_NAME}!?=[^,]*|${LABEL_NAME} +(not)?in *\\([^()]*\\))`
/** All terms of a selector have to hold. */
export const LABEL_SELECTOR = `^${LABEL_TERM}(,${LABEL_TERM}){0,31}$`
export const MOST_SELECTOR = 192

interface Term {
  name: string
  /** The values of the label; null: any value. */
  values: readonly string[] | null
  isNegated: boolean
}

const TERMS = /(!?)([^!=, ]+)(?: +(not)?in *\(([^()]*)\)|(!=|==?)([^,]*))?(?:,|$)/g

function termsOf(selector: string): Term[] {
  return [...selector.matchAll(TERMS)].map(([, negation, name = '', not, set, operator, value = '']) => ({
    name,
    values: set === undefined ? (operator ? [value] : null) : set.split(',').map((one) => one.trim()),
    isNegated: negation === '!' || operator === '!=' || not !== undefined,
  }))
}

/** True if labels, as JSON text, match a selector. */
export function isSelected(labels: string, selector: string): boolean {
  const own: Record<string, string> = JSON.parse(labels)
  return termsOf(selector).every(({ name, values, isNegated }) => {
    const value = Object.hasOwn(own, name) ? own[name] : undefined
    const has = value !== undefined && (values === null || values.includes(value))
    return has !== isNegated
  })
}

/**
 * Returns the condition that a column `labels` matches a selector, term by term. In JSON text a whole
 * `"name":"value"` or `"name":` can only be a label, as quotes inside are escaped.
 */
export function selecting(selector: string) {
  return termsOf(selector).map(({ name, values, isNegated }) => {
    const ends = values === null ? [''] : values.map((value) => JSON.stringify(value))
    const fragments = ends.map((end) => `${JSON.stringify(name)}:${end}`)
    // LIKE would ignore case on one of the two databases; replace is exact on both.
    const rest = fragments.reduce((text, fragment) => sql`replace(${text}, ${fragment}, '')`, sql`labels`)
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

/** Returns the labels of a row. */
export function labelsOf(row: { labels: string }): Record<string, string> {
  const labels: Record<string, string> = JSON.parse(row.labels)
  return labels
}

/** Returns the column for the labels of a request; empty if the request has none. */
export function labelsColumn(labels: Readonly<Record<string, string>> | undefined): { labels?: string } {
  return labels === undefined ? {} : { labels: JSON.stringify(labels) }
}
