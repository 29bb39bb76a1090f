import Type, { type TSchema } from 'typebox'

export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 200

/** The query parameters of every paged list. */
export const pagingQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, description: 'Items on a page' }),
  ),
  offset: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0, description: 'Items to skip' }),
  ),
}

/** The envelope of a collection that an account owns. */
export function listOf<T extends TSchema>(item: T) {
  const title = 'title' in item ? `${item.title}List` : undefined
  return Type.Object(
    {
      items: Type.Array(item),
      total: Type.Integer({ description: 'All that match, not only this page' }),
    },
    title ? { title } : {},
  )
}

export interface Page {
  limit: number
  offset: number
}

export function pageOf(query: { limit?: number | undefined; offset?: number | undefined }): Page {
  return { limit: query.limit ?? DEFAULT_LIMIT, offset: query.offset ?? 0 }
}

/**
 * The Link header (RFC 8288) of a page.
 * @param url path and query that were asked for
 */
export function linkHeader(url: string, { limit, offset }: Page, total: number): string {
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit
  const links: [rel: string, offset: number][] = [['first', 0]]
  if (offset > 0) links.push(['prev', Math.max(0, offset - limit)])
  if (offset + limit < total) links.push(['next', offset + limit])
  links.push(['last', last])
  const [path = '', query = ''] = url.split('?')
  const params = new URLSearchParams(query)
  params.set('limit', String(limit))
  return links
    .map(([rel, at]) => {
      params.set('offset', String(at))
      return `<${path}?${params}>; rel="${rel}"`
    })
    .join(', ')
}
