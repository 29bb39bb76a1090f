import type { CallOptions } from './request.ts'

/** The API's maximum page size. */
export const PAGE = 200

/**
 * Every item of a list, fetched page by page as they are used. An item created meanwhile shifts the rest down, so that
 * one comes twice: it is skipped. An item deleted meanwhile shifts the rest up, so that one can be missed.
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
