import { isSelected, LABEL_SELECTOR, MOST_SELECTOR } from '../database/labels.ts'
import { MAX_OFFSET } from '../http/contract/paging.ts'
import { wrong } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { Shown } from './numbers.ts'

const MOST_PER_PAGE = 50
const PER_PAGE = 25
/** The last page whose offset /v1 accepts. */
const LAST_PAGE = MAX_OFFSET / MOST_PER_PAGE
const SELECTOR = new RegExp(LABEL_SELECTOR)
const SELECTOR_FORM = `label_selector must have up to ${MOST_SELECTOR} characters, and terms name, !name, name=value, name!=value, name in (a,b) and name notin (a,b), joined by commas.`

/** The fields that lists are filtered and sorted by. */
export interface Listed {
  id: Shown
  name: string | null
  created?: string
  labels?: Readonly<Record<string, string>>
  status?: string
  type?: string
  /** The server of a backup. */
  bound_to?: Shown | null
}

interface Page {
  page: number
  perPage: number
}

/** The page that a request asks for. @throws ApiError invalid_input */
export function pageOf({ query }: Exchange): Page {
  const number = (name: string, fallback: number) => {
    const value = query.get(name) ?? String(fallback)
    if (!/^[1-9]\d{0,8}$/.test(value)) throw wrong(name, `${name} must be a positive number.`)
    return Number(value)
  }
  return {
    page: Math.min(number('page', 1), LAST_PAGE),
    perPage: Math.min(number('per_page', PER_PAGE), MOST_PER_PAGE),
  }
}

export function metaOf({ page, perPage }: Page, total: number) {
  const last = Math.max(1, Math.ceil(total / perPage))
  const pagination = {
    page,
    per_page: perPage,
    previous_page: page > 1 ? page - 1 : null,
    next_page: page < last ? page + 1 : null,
    last_page: last,
    total_entries: total,
  }
  return { pagination }
}

/** The field and the direction of a sort. @throws ApiError invalid_input */
export function sortOf({ query }: Exchange): { field: 'id' | 'name' | 'created'; isDescending: boolean } {
  const [, field, direction] = /^(id|name|created)(?::(asc|desc))?$/.exec(query.get('sort') ?? 'id') ?? []
  if (field !== 'id' && field !== 'name' && field !== 'created')
    throw wrong('sort', 'sort must be id, name or created, with :asc or :desc.')
  return { field, isDescending: direction === 'desc' }
}

/** The selector of labels, if there is one. @throws ApiError invalid_input */
export function selectorOf({ query }: Exchange): string | null {
  const given = query.get('label_selector')?.trim() ?? ''
  if (given === '') return null
  const selector = given.replaceAll(/\s*(!=|==?|[!,])\s*/g, '$1')
  if (selector.length > MOST_SELECTOR || !SELECTOR.test(selector))
    throw wrong('label_selector', SELECTOR_FORM)
  return selector
}

/** Filters, sorts and cuts a list that is whole in memory. */
export async function listed(x: Exchange, key: string, all: readonly Listed[]): Promise<object> {
  const selector = selectorOf(x)
  const name = x.query.get('name')
  const [statuses, types] = [x.query.getAll('status'), x.query.getAll('type')]
  const wanted = all.filter(
    (item) =>
      (name === null || item.name === name) &&
      (statuses.length === 0 || statuses.includes(item.status ?? '')) &&
      (types.length === 0 || types.includes(item.type ?? '')) &&
      (selector === null || isSelected(JSON.stringify(item.labels ?? {}), selector)),
  )
  await x.settle()
  const { field, isDescending } = sortOf(x)
  const sortedBy = (item: Listed) => (field === 'id' ? Number(item.id) : (item[field] ?? ''))
  const sign = isDescending ? -1 : 1
  const sorted = wanted.sort((one, other) => {
    const [left, right] = [sortedBy(one), sortedBy(other)]
    return left < right ? -sign : left > right ? sign : Number(one.id) - Number(other.id)
  })
  const page = pageOf(x)
  const from = (page.page - 1) * page.perPage
  return { [key]: sorted.slice(from, from + page.perPage), meta: metaOf(page, sorted.length) }
}
