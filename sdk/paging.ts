import type { CallOptions } from './request.ts'

/** As many items as the API gives at once. */
export const PAGE = 200

/**
 * Every item of a list, asked for page by page as they are used. What is made meanwhile moves the rest down: an item
 * that comes again by that is left out. What is deleted meanwhile moves it up, so that one can be missed.
 */
export async function* everyItem<Item, Id extends keyof Item, Query extends object>(
  list: (
    query: Query & { limit: number; offset: number },
    options?: CallOptions,
  ) => Promise<{ items: Item[]; total: number }>,
  id: Id,
  query: Query,
  options?: CallOptions,
): AsyncGenerator<Item, void, undefined> {
  const seen = new Set<Item[Id]>()
  for (let offset = 0; ; offset += PAGE) {
    const { items, total } = await list({ ...query, limit: PAGE, offset }, options)
    for (const item of items) {
      if (!seen.has(item[id])) yield item
      seen.add(item[id])
    }
    if (items.length === 0 || offset + items.length >= total) return
  }
}
