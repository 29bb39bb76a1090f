import Type, { type TSchema } from 'typebox'
import type { Page } from '../../database/page.ts'

export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 200
export const MAX_OFFSET = 1_000_000_000
/** Proxies take 4 KB of headers and refuse longer replies. */
const MAX_LINK = 2_500

/** The query parameters of every paged list. */
export const pagingQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description: 'Number of items per page; a number above the maximum is refused with 422',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_OFFSET,
      default: 0,
      description:
        'Number of items to skip, for pages other than the first; the `Link` header has the address of each page',
    }),
  ),
}

/** The envelope of a collection that an account owns. */
export function listOf<T extends TSchema>(item: T) {
  const title = 'title' in item ? `${item.title}List` : undefined
  return Type.Object(
    {
      items: Type.Array(item, { description: 'The items of this page' }),
      total: Type.Integer({
        description: 'Number of all matching items, not only those on this page',
        examples: [1],
      }),
    },
    title
      ? { title, description: 'One page of a list; the `Link` header has the addresses of the others' }
      : {},
  )
}

/** The part of a call that a paged list needs. */
interface PagedCall {
  query: { limit?: number | undefined; offset?: number | undefined }
  /** The requested path and query; empty if no links are needed. */
  url: string
  setHeader(name: string, value: string): void
}

/**
 * The reply of a paged list, with its Link header.
 * @param find returns one page of rows, and how many there are in all
 * @param view turns a row into the object that customers see
 */
export async function paged<Row, View>(
  { query, url, setHeader }: PagedCall,
  find: (page: Page) => Promise<{ items: readonly Row[]; total: number }>,
  view: (row: Row) => View,
): Promise<{ items: View[]; total: number }> {
  const page = { limit: query.limit ?? DEFAULT_LIMIT, offset: query.offset ?? 0 }
  const { items, total } = await find(page)
  if (url !== '') setHeader('link', linkHeader(url, page, total))
  return { items: items.map(view), total }
}

/**
 * The Link header (RFC 8288) of a page.
 * @param url the requested path and query
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
  params.delete('offset')
  const rest = params.toString()
  const written = links.map(([rel, at]) => ({ rel, text: `<${path}?${rest}&offset=${at}>; rel="${rel}"` }))
  const whole = written.map(({ text }) => text).join(', ')
  if (whole.length <= MAX_LINK) return whole
  // Long filters leave room only for the link that a client needs to continue.
  return (written.find(({ rel }) => rel === 'next') ?? written[0])?.text ?? ''
}
